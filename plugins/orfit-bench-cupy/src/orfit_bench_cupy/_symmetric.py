"""Update a covariance so that it stays exactly symmetric."""

from __future__ import annotations

from functools import cache
from typing import Any

from orfit_bench_cupy._transfers import Array

OPERATION = "P = (P - (G + H) / 2) / ff"
"""The operation for every entry; tests compile it for all architectures."""


@cache
def _kernel(xp: Any) -> Any:
    return xp.ElementwiseKernel("T G, T H, T ff", "T P", OPERATION, "orfit_bench_take_off")


def downdate(P: Array, V: Array, ff: float) -> None:
    """P <- (P - V'V) / ff in one pass over P, with entries (i, j) and (j, i) from the same numbers."""
    G = V.T @ V
    _kernel(P.__array_namespace__())(G, G.T, P.dtype.type(ff), P)
