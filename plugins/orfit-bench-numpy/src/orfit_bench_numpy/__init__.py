"""The reference backend: every method in NumPy, row by row, close to the formulas of the papers."""

from __future__ import annotations

import pkgutil

import numpy as np

from orfit_bench.plugins.hooks import hookimpl
from orfit_bench.spec import Backend

SPEC_VERSION = (1, 0)
METHODS = tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")))
"""The methods of this backend: every module of the package whose name does not start with an underscore."""

__all__ = ["BACKEND", "METHODS", "SPEC_VERSION", "backends", "kernels"]

BACKEND = Backend("numpy", "the readable reference, on the CPU", namespace=lambda: np, device="cpu", complete=True)


@hookimpl
def backends() -> tuple[Backend, ...]:
    """NumPy arrays in host memory."""
    return (BACKEND,)


@hookimpl
def kernels() -> dict[tuple[str, str], str]:
    """One module for each method, with the same name."""
    return {("numpy", method): f"orfit_bench_numpy.{method}" for method in METHODS}
