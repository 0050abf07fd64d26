"""The regularized pseudo-inverse A'(A A' + eps I)^+ of the rows A (k, p) of affine projection."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr as qr_by_size
from scipy.linalg import solve_triangular

from orfit_bench.kernels.parts import divided, largest_parts

Array = NDArray[Any]


class RegularizedInverse(NamedTuple):
    """A'(A A' + eps I)^+ = W diag(gain) V of each A (..., k, p)."""

    W: Array  # (..., p, k)
    gain: Array  # (..., k)
    V: Array  # (..., k, k)

    def times(self, b: Array) -> Array:
        """A'(A A' + eps I)^+ b for each b (..., k, r)."""
        product: Array = self.W @ (self.gain[..., None] * (self.V @ b))
        return product


UNEVEN = 30
"""Largest ratio of the sizes of two rows of A for which they are not divided by their sizes."""


def regularized_inverse(A: Array, eps: float | Array) -> RegularizedInverse:
    """A'(A A' + eps I)^+ by the SVD of each A (..., k, p), with eps (...).

    Singular values of A up to sqrt(machine eps) of the largest count as zero. For rows of very different sizes, this is
    decided after they are divided by their sizes: a small row counts unless it nearly depends on the others.
    """
    largest = largest_parts(A).max(axis=-1)
    size = np.maximum(largest.max(axis=-1), 1)[..., None]  # so that no singular value nor its square overflows
    divide = divided if A.dtype.kind == "c" else np.divide
    V, sigma, Wt = svd_of_rows(divide(A, size[..., None]))
    nonzero = sigma > math.sqrt(np.finfo(A.dtype).eps) * sigma[..., :1]
    added = np.asarray(eps, sigma.dtype)[..., None] / size / size / sigma
    gain = np.divide(1, sigma + added, out=np.zeros_like(sigma), where=nonzero)
    found = RegularizedInverse(Wt.conj().mT, gain, divide(V.conj().mT, size[..., None]))
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
        order = np.argsort(-largest_parts(rows).max(axis=1), kind="stable")
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
    size = largest_parts(rows).max(axis=2, keepdims=True)
    rows = divided(rows, size)
    length = np.linalg.norm(rows, axis=2, keepdims=True)
    rows = divided(rows, length)
    V, sigma, Wt = svd_of_rows(rows)
    # The rounding errors of Wt are relative to its rows of length 1, of which eps may leave little for these columns.
    Wt = np.where(sigma[..., None] > 0.5, V.conj().mT @ rows[..., :p] / sigma[..., None], Wt[..., :p])
    is_nonzero = largest_parts(A).max(axis=2)[:, None] > 0
    of_rows = np.where(is_nonzero, divided(divided(V.conj().mT, length.mT), size.mT), 0)  # a zero row adds nothing
    found = RegularizedInverse(Wt.conj().mT, 1 / sigma, of_rows)
    if k > p:  # as many directions as columns
        unit = np.broadcast_to(np.eye(p, dtype=A.dtype), (len(A), p, p))
        found = RegularizedInverse(unit, np.ones_like(sigma[:, :p]), found.times(np.eye(k, dtype=A.dtype)))
    return found, sigma[:, -1] > math.sqrt(np.finfo(A.dtype).eps) * sigma[:, 0]


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
