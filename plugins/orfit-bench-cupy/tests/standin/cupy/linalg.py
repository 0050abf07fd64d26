"""Factorisations as cuSOLVER's: Fortran order, and NaN instead of an error."""

from __future__ import annotations

from typing import Any

import numpy as np

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
    COUNTS.launches += CHOLESKY
    try:
        return ndarray(np.linalg.cholesky(a._a))
    except np.linalg.LinAlgError:
        return ndarray(np.full(a.shape, np.nan, a.dtype))


def _solve(a: Any, b: Any) -> Any:
    COUNTS.launches += SOLVE
    work = reserve(a.nbytes)  # a copy in Fortran order, in which the factors stay
    x = np.linalg.solve(a._a, b._a)
    del work
    return ndarray(np.asfortranarray(x))


qr = bound("linalg.qr", REAL.linalg.qr, _qr)
eigh = bound("linalg.eigh", REAL.linalg.eigh, _eigh)
cholesky = bound("linalg.cholesky", REAL.linalg.cholesky, _cholesky)
solve = bound("linalg.solve", REAL.linalg.solve, _solve)
