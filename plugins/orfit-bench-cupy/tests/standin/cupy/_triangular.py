"""`cupyx.scipy.linalg.solve_triangular`, as CuPy calls cuBLAS."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular as solve_on_host

from ._array import ndarray, plain
from ._counts import COUNTS
from ._real import bound, declared
from ._rounding import uneven


def _solve_triangular(
    a: ndarray,
    b: ndarray,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = False,
) -> ndarray:
    """Solve with both arrays in Fortran order, or copies; `b` is overwritten if allowed; a singular `a` is no error."""
    A, B = plain(a), plain(b)
    if A.dtype != B.dtype or A.shape != (len(B), len(B)):
        raise ValueError(f"incompatible: {A.dtype} {A.shape} and {B.dtype} {B.shape}")
    in_place = overwrite_b and B.flags.f_contiguous
    COUNTS.launches += 1 + (not A.flags.f_contiguous) + (not in_place)
    with np.errstate(all="ignore"):
        if np.diagonal(A).all():
            X = solve_on_host(A, B, trans=trans, lower=lower, unit_diagonal=unit_diagonal, check_finite=False)
        else:  # cuBLAS divides by zero
            X = np.full(B.shape, np.nan, B.dtype)
    X = uneven(X, (A.shape, B.shape, A.dtype.char))
    if not in_place:
        return ndarray(np.asfortranarray(X))
    B[...] = X
    return b


solve_triangular = bound(
    "scipy.linalg.solve_triangular",
    declared("cupyx/scipy/linalg/_solve_triangular.py", "solve_triangular"),
    _solve_triangular,
)
