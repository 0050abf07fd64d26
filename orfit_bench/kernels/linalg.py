"""Matrix factors and inverses of bases C (d, k) of subspaces and of covariances P (d, d)."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs, solve_triangular

Array = NDArray[Any]
ORTHONORMALIZATION_PERIOD = 97
"""Steps between orthonormalizations of a basis that every step rotates: each rotation adds rounding errors.

It is a prime, so that these steps do not coincide with the period of a stream (docs/decisions/0012).
"""

ROUNDING = 8
"""In a covariance with rounded entries, eigenvalues up to this many eps times the largest one may be zero."""


def orthonormal_factor(C: Array) -> Array | None:
    """The Q (d, k) of C = Q R with a positive diagonal of R, which is unique; None if few of its digits are left.

    C must have grown out of an orthonormal matrix without shrinking in any direction. The error of Q is then at most
    eps |R|, and 0.01 is allowed.
    """
    Q, R = qr(C)
    return Q * diagonal_signs(R) if is_accurate(R) else None


def orthonormal_factors(C: Array) -> tuple[Array, Array]:
    """The Q of each C (..., d, k), and which of them have enough digits."""
    Q, R = np.linalg.qr(C)
    return Q * diagonal_signs(R)[..., None, :], is_accurate(R)


def is_accurate(R: Array) -> Any:
    """Whether eps |R| is at most 0.01, for each R (..., k, k); False if an entry is NaN or infinite."""
    return np.finfo(R.dtype).eps * np.abs(R).max(axis=(-2, -1)) <= 0.01


def diagonal_signs(R: Array) -> Array:
    """The signs (..., k) of the diagonal of each R (..., k, k), which LAPACK makes real."""
    signs: Array = np.copysign(1, np.diagonal(R, axis1=-2, axis2=-1).real)
    return signs


def qr(C: Array) -> tuple[Array, Array]:
    """Q (d, k) and R (k, k) of C = Q R; below the diagonal, the entries of R are undefined, but at most 1.

    It calls LAPACK directly, since `numpy.linalg.qr` takes seven times as long for a few columns.
    """
    geqrf, orgqr, _ = routines(C.dtype)
    k = C.shape[1]
    factors, tau, _, _ = geqrf(C, lwork=32 * k)
    return orgqr(factors, tau, lwork=32 * k)[0], factors[:k]


@cache
def routines(dtype: np.dtype[Any]) -> Any:
    """LAPACK's QR decomposition, the Q of it, and the solution of triangular systems, for this dtype."""
    return get_lapack_funcs(("geqrf", "orgqr", "trtrs"), dtype=dtype)


def inverse_gram(C: Array) -> Array | None:
    """(C^H C)^-1 = R^-1 R^-H (k, k) for C = Q R; None if C has lost its rank."""
    R: Array = np.linalg.qr(C)[1]
    if not np.diagonal(R).all():
        return None
    half = solve_triangular(R, np.eye(len(R), dtype=R.dtype), check_finite=False)
    inverse: Array = half @ half.conj().T
    return inverse


def coordinates_of_rows(C: Array, A: Array) -> Array | None:
    """X = C^+ A^H = R^-1 Q^H A^H (k, N) of rows A (N, d), for C (d, k) = Q R; None if C has lost its rank."""
    Q, R = qr(C)
    _, _, trtrs = routines(C.dtype)
    X, zero_pivot = trtrs(R, (A @ Q).conj().T)
    return None if zero_pivot else X


def inverse_or_zero(size: Array) -> Array:
    """1 / size, and 0 where size is 0."""
    inverse: Array = np.divide(1, size, out=np.zeros_like(size), where=size > 0)
    return inverse


def root_of(P: Array) -> Array:
    """S with S S' = P, diagonal if P is; a variance that rounding has made negative counts as zero.

    Rounding errors of each row are relative to its own deviation.
    """
    return _root(P, 0.0)


def root_of_noise(Q: Array) -> Array:
    """The root of a covariance that is given, not computed: a variance that may be rounding counts as zero.

    Its root would be much larger than rounding: a deviation of sqrt(eps) in a direction without noise.
    """
    return _root(Q, ROUNDING * float(np.finfo(Q.dtype).eps))


def _root(P: Array, least: float) -> Array:
    """The root without the directions in which the correlations are at most `least` times their largest eigenvalue."""
    diagonal = np.diagonal(P)
    size = np.sqrt(np.maximum(diagonal, 0))
    if np.count_nonzero(P) == np.count_nonzero(diagonal):
        return np.diag(size)
    with suppress(np.linalg.LinAlgError):
        S: Array = np.linalg.cholesky(P)
        if not least or (np.diagonal(S) > np.finfo(P.dtype).eps ** 0.25 * size).all():
            return S
    unit = inverse_or_zero(size)[:, None]
    values, U = np.linalg.eigh(unit * P * unit.T)
    return np.asarray(size[:, None] * U * np.sqrt(np.where(values > least * values[-1], np.maximum(values, 0), 0)))
