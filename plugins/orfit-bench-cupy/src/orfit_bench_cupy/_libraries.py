"""Functions of cuBLAS that CuPy's array namespace lacks, provided by `_device`, the only module that imports CuPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from orfit_bench_cupy._transfers import Array


class Libraries(NamedTuple):
    """`cupyx.scipy.linalg.solve_triangular` and `cupy.cublas.syrk`, or functions with their signatures."""

    solve_triangular: Callable[..., Array]
    syrk: Callable[..., Array]


_known: dict[str, Libraries] = {}


def provide(namespace: Any, libraries: Libraries) -> None:
    """Use these functions for arrays of the namespace."""
    _known[namespace.__name__] = libraries


def _libraries(a: Array) -> Libraries:
    return _known[a.__array_namespace__().__name__]


def solve_lower(L: Array, right: Array) -> Array:
    """The transpose of L^-1 right' for a lower triangular L; overwrites `right`.

    L and right are in C order, so their transposes are in the order that cuBLAS takes, and nothing is copied.
    """
    return _libraries(L).solve_triangular(L.T, right.T, trans="T", lower=False, overwrite_b=True).T


def solve_factored(C: Array, right: Array) -> Array:
    """Solve C C' X = right (d, r) for a lower triangular C (d, d) in C order: 2 d^2 r flops."""
    solve = _libraries(C).solve_triangular
    half = solve(C.T, right, trans="T", lower=False)
    return C.__array_namespace__().ascontiguousarray(solve(C.T, half, trans="N", lower=False))


def multiply_by_transpose(V: Array) -> Array:
    """The lower triangle of V V' (d, d) for V (d, b): b d^2 flops. Entries above it are undefined."""
    G = V.__array_namespace__().empty((len(V), len(V)), dtype=V.dtype)
    return _libraries(V).syrk("N", V, out=G, alpha=1.0, beta=0.0, lower=True)


def add_products(L: Array, X: Array, factor: float) -> None:
    """Compute the lower triangle of L <- factor L + X'X in place for rows X (n, d): d^2 flops per row."""
    _libraries(L).syrk("T", X, out=L, alpha=1.0, beta=factor, lower=True)
