"""A backend on array-api-strict, whose arrays have what the Python array API standard names and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
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
        import array_api_strict as xp

        return (
            Backend(
                "strict",
                "arrays of array-api-strict",
                namespace=lambda: xp,
                asarray=lambda a: xp.asarray(np.array(a)),
                asnumpy=lambda a: np.array(np.from_dlpack(a)),
                device="cpu",
            ),
        )

    @ob.hookimpl
    def kernels(self) -> Any:
        methods = import_module("orfit_bench_torch").METHODS
        return {("strict", name): _with_models(import_module(f"orfit_bench_torch.{name}")) for name in methods}


def _with_models(kernel: ModuleType) -> Any:
    """The kernel with models, if PyTorch's tensors alone do not allow them: these arrays have `__array_namespace__`."""
    lacks = {name: why for name, why in getattr(kernel, "LACKS", {}).items() if why != tensors_cannot()}
    return SimpleNamespace(**vars(kernel) | {"LACKS": lacks})


def tensors_cannot() -> str:
    """Why kernels of the example lack models, if it is for PyTorch's sake."""
    return str(import_module("orfit_bench_torch._loops").NO_MODELS)


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
