"""Kernels on PyTorch tensors, in functions of the Python array API standard."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from orfit_bench import hookimpl
from orfit_bench.spec import Backend

SPEC_VERSION = (1, 0)
METHODS = ("lms", "nlms", "rls", "oja")


def namespace() -> Any:
    """PyTorch's functions with the names and arguments of the standard."""
    import array_api_compat.torch

    return array_api_compat.torch


def probe() -> str:
    """Why it is not available, with the remedy."""
    missing = [name for name in ("torch", "array_api_compat") if find_spec(name) is None]
    return f"{' and '.join(missing)} not installed: pip install torch array-api-compat" if missing else ""


def asarray(a: Any) -> Any:
    """A tensor that shares no memory with the NumPy array a."""
    import torch

    return torch.tensor(a)


BACKEND = Backend(
    "torch",
    "PyTorch tensors in host memory, an example",
    namespace=namespace,
    asarray=asarray,
    asnumpy=lambda a: a.numpy().copy(),
    probe=probe,
    device="cpu",
)


@hookimpl
def backends() -> tuple[Backend, ...]:
    """The backend."""
    return (BACKEND,)


@hookimpl
def kernels() -> dict[tuple[str, str], str]:
    """The module of each method."""
    return {(BACKEND.name, name): f"orfit_bench_torch.{name}" for name in METHODS}
