"""Triangular solves on the device by a function that `_device` knows, the only module that imports CuPy's packages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orfit_bench_cupy._transfers import Array

_solvers: dict[str, Callable[..., Array]] = {}


def provide(namespace: Any, solve_triangular: Callable[..., Array]) -> None:
    """Use this function, with the signature of `cupyx.scipy.linalg.solve_triangular`, for arrays of the namespace."""
    _solvers[namespace.__name__] = solve_triangular


def solve_lower(L: Array, right: Array) -> Array:
    """The transpose of L^-1 right' for a lower triangular L; overwrites `right`.

    L and right are in C order, so their transposes are in the order that cuBLAS takes, and nothing is copied.
    """
    solve = _solvers[L.__array_namespace__().__name__]
    return solve(L.T, right.T, trans="T", lower=False, overwrite_b=True).T
