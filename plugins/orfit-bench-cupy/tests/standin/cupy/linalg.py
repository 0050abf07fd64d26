"""Factorizations like those of cuSOLVER: Fortran order, and no error if there is no result."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs

from ._array import ndarray
from ._counts import COUNTS
from ._functions import reserve
from ._real import REAL, bound

QR, EIGH, CHOLESKY, SOLVE = 6, 4, 3, 4
"""Launches by CuPy; each starts many more inside cuSOLVER."""


def _qr(a: Any, mode: str = "reduced") -> Any:
    COUNTS.launches += QR
    x = a._a
    m, n = x.shape
    work = reserve(x.nbytes)  # a copy in Fortran order, in which the reflections stay
    if np.isfinite(x).all():
        Q, R = np.linalg.qr(x)
    else:
        Q, R = np.full((m, min(m, n)), np.nan, x.dtype), np.full((min(m, n), n), np.nan, x.dtype)
    del work
    R = ndarray(np.asfortranarray(R))
    return R if mode == "r" else (ndarray(np.asfortranarray(Q)), R)


def _eigh(a: Any, UPLO: str = "L") -> Any:  # CuPy's name
    COUNTS.launches += EIGH
    x = a._a
    if np.isfinite(x).all():
        values, vectors = np.linalg.eigh(x, UPLO)
    else:
        values, vectors = np.full(len(x), np.nan, x.dtype), np.full(x.shape, np.nan, x.dtype)
    return ndarray(values), ndarray(np.asfortranarray(vectors))


def _cholesky(a: Any) -> Any:
    """The factor; if a is not positive definite, what LAPACK has written until it stopped, without NaN."""
    COUNTS.launches += CHOLESKY
    (potrf,) = get_lapack_funcs(("potrf",), (a._a,))
    return ndarray(np.ascontiguousarray(potrf(a._a, lower=1, clean=1)[0]))


def _solve(a: Any, b: Any) -> Any:
    COUNTS.launches += SOLVE
    work = reserve(a.nbytes)  # a copy in Fortran order, in which the factors stay
    x = np.linalg.solve(a._a, b._a)
    del work
    return ndarray(np.asfortranarray(x))


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:  # CuPy's names
    if ord is not None or type(axis) is not int:
        raise NotImplementedError(f"norm: got ord={ord} and axis={axis}")
    COUNTS.launches += 1
    with np.errstate(all="ignore"):
        return ndarray(np.asarray(np.sqrt(np.sum(x._a * x._a, axis=axis, keepdims=keepdims)).astype(x._a.dtype)))


norm = bound("linalg.norm", REAL.linalg.norm, _norm)
qr = bound("linalg.qr", REAL.linalg.qr, _qr)
eigh = bound("linalg.eigh", REAL.linalg.eigh, _eigh)
cholesky = bound("linalg.cholesky", REAL.linalg.cholesky, _cholesky)
solve = bound("linalg.solve", REAL.linalg.solve, _solve)
