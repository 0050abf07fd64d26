"""A backend on array-api-strict, whose arrays have only what the Python array API standard defines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

import orfit_bench as ob
from orfit_bench.spec import Backend

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "orfit-bench-torch" / "src"
"""The package orfit_bench_torch, whose kernels run on any such library."""


class Strict:
    """A plugin with the kernels of the example on the backend "strict"."""

    SPEC_VERSION = (1, 0)

    @ob.hookimpl
    def backends(self) -> Any:
        return (strict_backend(),)

    @ob.hookimpl
    def kernels(self) -> Any:
        methods = import_module("orfit_bench_torch").METHODS
        return {("strict", name): _with_models(import_module(f"orfit_bench_torch.{name}")) for name in methods}


class Borrowed:
    """A plugin with the kernels of the reference on the backend "strict": they compute on views of its arrays."""

    SPEC_VERSION = (1, 0)

    @ob.hookimpl
    def backends(self) -> Any:
        return (strict_backend(),)

    @ob.hookimpl
    def kernels(self) -> Any:
        return {("strict", name): _borrowed(import_module(f"orfit_bench_numpy.{name}")) for name in ob.methods()}


def strict_backend() -> Backend:
    """The backend "strict", without kernels."""
    import array_api_strict as xp

    return Backend(
        "strict",
        "arrays of array-api-strict",
        namespace=lambda: xp,
        asarray=lambda a: xp.asarray(np.array(a)),
        asnumpy=lambda a: np.array(np.from_dlpack(a)),
        device="cpu",
    )


FUNCTIONS = ("learn", "update", "step", "store", "ahead", "slopes", "move", "solve", "predict_step", "can_smooth")
"""Functions of a kernel that learners call, except those of fleets; and `rts_smooth`."""


def _borrowed(kernel: ModuleType) -> Any:
    """Functions of a kernel of NumPy for arrays of array-api-strict."""
    functions = {name: _on_views(getattr(kernel, name)) for name in (*FUNCTIONS, "rts_smooth") if hasattr(kernel, name)}
    return SimpleNamespace(**functions, LACKS=getattr(kernel, "LACKS", {}))


def _on_views(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, called with NumPy views of its arrays."""

    return lambda *arguments: _strict(function(*map(_view, arguments)))


class Views:
    """A record, such as a state or parameters, whose arrays are NumPy views."""

    def __init__(self, record: Any) -> None:
        self._record = record

    def __getattr__(self, name: str) -> Any:
        return _view(getattr(self._record, name))

    def __iter__(self) -> Iterator[Any]:
        return map(_view, self._record)


def _view(value: Any) -> Any:
    """An argument with its arrays replaced by NumPy views."""
    if hasattr(value, "__array_namespace__"):
        return np.from_dlpack(value)
    if type(value) in (list, tuple):
        return type(value)(map(_view, value))
    if callable(value):  # `p.at`
        return lambda *arguments, **named: _view(value(*arguments, **named))
    return Views(value) if hasattr(value, "_fields") else value


def _strict(found: Any) -> Any:
    """A kernel's result with its arrays converted to those of array-api-strict."""
    import array_api_strict as xp

    if isinstance(found, tuple):
        return tuple(map(_strict, found))
    return xp.asarray(found) if isinstance(found, np.ndarray) else found


def _with_models(kernel: ModuleType) -> Any:
    """The kernel with models, if PyTorch's tensors alone do not allow them: these arrays have `__array_namespace__`."""
    lacks = {name: why for name, why in getattr(kernel, "LACKS", {}).items() if why != tensors_cannot()}
    return SimpleNamespace(**vars(kernel) | {"LACKS": lacks})


def tensors_cannot() -> str:
    """The reason why kernels of the example lack models, if this is due to PyTorch."""
    return str(import_module("orfit_bench_torch._loops").NO_MODELS)


@contextmanager
def borrowed_kernels() -> Iterator[None]:
    """The backend "strict" with the kernels of the reference, for the duration of the block."""
    ob.register(Borrowed(), "borrowed")
    try:
        yield
    finally:
        ob.unregister("borrowed")


@contextmanager
def example(plugin: str) -> Iterator[None]:
    """The backend "strict" or "torch" with the kernels of the example, for the duration of the block."""
    sys.path.insert(0, str(EXAMPLE))
    try:
        ob.register(Strict() if plugin == "strict" else import_module("orfit_bench_torch"), plugin)
        yield
    finally:
        ob.unregister(plugin)
        sys.path.remove(str(EXAMPLE))
