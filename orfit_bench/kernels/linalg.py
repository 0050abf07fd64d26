"""Matrix factors and inverses: of bases C (d, k) of subspaces, of rows A (k, p), of covariances P (d, d)."""

from __future__ import annotations

import math
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs, solve_triangular
from scipy.linalg import qr as qr_by_size

Array = NDArray[Any]
RENEWAL_PERIOD = 97
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


class RegularizedInverse(NamedTuple):
    """A'(A A' + eps I)^+ = W diag(gain) V of each A (..., k, p)."""

    W: Array  # (..., p, k)
    gain: Array  # (..., k)
    V: Array  # (..., k, k)

    def times(self, b: Array) -> Array:
        """A'(A A' + eps I)^+ b for each b (..., k, r)."""
        product: Array = self.W @ (self.gain[..., None] * (self.V @ b))
        return product


WIDE = 16
"""With at least this many columns per row, a QR decomposition of A^H before the SVD saves time."""


def svd_of_rows(A: Array) -> tuple[Array, Array, Array]:
    """V (..., k, m), sigma (..., m), W^H (..., m, p) of each A (..., k, p) = V diag(sigma) W^H, where m = min(k, p).

    The SVD of wide A is that of R^H, from A^H = Q R: half the time of `numpy.linalg.svd`.
    """
    k, p = A.shape[-2:]
    if p < WIDE * k:
        return np.linalg.svd(A, full_matrices=False)
    Q, R = np.linalg.qr(A.conj().mT)
    V, sigma, Z = np.linalg.svd(R.conj().mT)
    return V, sigma, Z @ Q.conj().mT


UNEVEN = 30
"""Largest ratio of the sizes of two rows of A for which they are not divided by their sizes."""


def regularized_inverse(A: Array, eps: float | Array) -> RegularizedInverse:
    """A'(A A' + eps I)^+ by the SVD of each A (..., k, p), with eps (...).

    Singular values up to sqrt(machine eps) of the largest count as zero. For rows of very different sizes, this is
    decided after they are divided by their sizes: a small row counts unless it nearly depends on the others.
    """
    largest = np.abs(A).max(axis=-1)
    size = np.maximum(largest.max(axis=-1), 1)[..., None]  # so that no singular value nor its square overflows
    V, sigma, Wt = svd_of_rows(A / size[..., None])
    nonzero = sigma > math.sqrt(np.finfo(A.dtype).eps) * sigma[..., :1]
    added = np.asarray(eps, sigma.dtype)[..., None] / size / size / sigma
    gain = np.divide(1, sigma + added, out=np.zeros_like(sigma), where=nonzero)
    found = RegularizedInverse(Wt.conj().mT, gain, V.conj().mT / size[..., None])
    uneven = are_rows_uneven(largest)
    if np.any(uneven):
        _replace_uneven(found, A, np.broadcast_to(eps, largest.shape[:-1]), uneven)
    return found


def _replace_uneven(found: RegularizedInverse, A: Array, eps: Array, uneven: Any) -> None:
    """Replace the inverses for uneven rows if these, divided by their sizes, do not depend on each other."""
    left, (k, p) = np.array(uneven), A.shape[-2:]
    for solve in (_solve_by_columns, _divide_by_sizes) if k >= max(MANY_ROWS, p + 1) else (_divide_by_sizes,):
        if left.any():
            scaled, solved = solve(A[left], eps[left])
            chosen = left.copy()
            chosen[left] = solved
            for part, new in zip(found, scaled, strict=True):
                part[chosen] = new[solved]
            left &= ~chosen


def are_rows_uneven(largest: Array) -> Any:
    """Whether one of the rows with these largest numbers (..., k) is much larger than another."""
    return largest.max(axis=-1) > UNEVEN * largest.min(axis=-1)


MANY_ROWS = 64
"""With at least this many rows in a window, an SVD of the rows takes longer than a QR decomposition by columns."""


def _solve_by_columns(A: Array, eps: Array) -> tuple[RegularizedInverse, Array]:
    """The inverse for each A (m, k, p) as (A'A + eps I)^-1 A' = R^-1 Q' with [A; sqrt(eps) I] = Q R.

    With the rows in order of decreasing size and with column pivoting, the error of each row is relative to its own
    size (Cox and Higham, 1998). Also returns for which A the columns do not nearly depend on each other: for these, no
    singular value counts as zero, and no digits are lost. The others are not solved.
    """
    (m, k, p), solved = A.shape, np.empty(len(A), bool)
    found = np.zeros((m, p, k), A.dtype)
    for i, (rows, added) in enumerate(zip(A, eps, strict=True)):
        rows = np.vstack([rows, (np.sqrt(added) * np.eye(p)).astype(A.dtype)])
        order = np.argsort(-np.abs(rows).max(axis=1), kind="stable")
        Q, R, columns = qr_by_size(rows[order], mode="economic", pivoting=True, check_finite=False)
        pivots = np.abs(np.diagonal(R))
        solved[i] = pivots.min() > np.finfo(A.dtype).eps ** 0.25 * pivots.max()
        if solved[i]:
            back = np.empty(k + p, int)
            back[order] = np.arange(k + p)
            found[i][columns] = solve_triangular(R, Q[back[:k]].conj().T, check_finite=False)
    unit = np.broadcast_to(np.eye(p, dtype=A.dtype), (m, p, p))
    return RegularizedInverse(unit, np.ones((m, p), A.real.dtype), found), solved


def _divide_by_sizes(A: Array, eps: Array) -> tuple[RegularizedInverse, Array]:
    """The inverse for each A (m, k, p), from the SVD of D^-1 [A, sqrt(eps) I], whose rows have length 1.

    Also returns for which A these rows do not nearly depend on each other; the other results are undefined.
    """
    k, p = A.shape[1:]
    rows = np.concatenate([A, (np.sqrt(eps)[:, None, None] * np.eye(k)).astype(A.dtype)], axis=2)
    size = np.abs(rows).max(axis=2, keepdims=True)
    rows /= np.where(size > 0, size, 1)
    length = np.linalg.norm(rows, axis=2, keepdims=True)
    rows /= np.where(length > 0, length, 1)
    V, sigma, Wt = svd_of_rows(rows)
    # The rounding errors of Wt are relative to its rows of length 1, of which eps may leave little for these columns.
    Wt = np.where(sigma[..., None] > 0.5, V.conj().mT @ rows[..., :p] / sigma[..., None], Wt[..., :p])
    found = RegularizedInverse(Wt.conj().mT, 1 / sigma, V.conj().mT / length.mT / size.mT)
    if k > p:  # as many directions as columns
        unit = np.broadcast_to(np.eye(p, dtype=A.dtype), (len(A), p, p))
        found = RegularizedInverse(unit, np.ones_like(sigma[:, :p]), found.times(np.eye(k, dtype=A.dtype)))
    return found, sigma[:, -1] > math.sqrt(np.finfo(A.dtype).eps) * sigma[:, 0]
