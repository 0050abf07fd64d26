"""Norms, products and least-squares solutions that several rules use."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.kernels.guards import is_finite

Array = NDArray[Any]


def norm(a: Array) -> float:
    """The norm |a|, in a fifth of the time of `np.linalg.norm` for short vectors."""
    return math.sqrt(np.vdot(a, a).real)


def multiply_by_columns(A: Array, B: Array) -> Array:
    """A B (n, r) for A (n, k) and B (k, r), with every entry computed as a separate dot product."""
    product: Array = np.vecdot(A[:, None], np.ascontiguousarray(B.T))
    return product


def least_squares(A: Array, B: Array, rcond: float | None) -> Array:
    """A^+ B (p, r), or NaN if A or B is not finite, for which LAPACK might never return."""
    if not (is_finite(A) and is_finite(B)):
        return np.full((A.shape[1], B.shape[1]), np.nan, B.dtype)
    z: Array = np.linalg.lstsq(A, B, rcond=rcond)[0]
    return z
