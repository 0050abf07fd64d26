"""What several kernels need: the walk over rows, a test of finiteness, Gram-Schmidt with a memory.

Shapes: J (q, p) gradients as rows, G = J' (p, q), E (q, r) errors, w (p, r), U (p, n) orthonormal columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

Array = NDArray[Any]
Update = Callable[[Any, Array, Array, Any], bool]
RENEWAL = 97
"""Steps between renewals of a rotated basis: a prime, so that in no periodic stream all of them change nothing."""


def finite(a: Array) -> bool:
    """Whether all entries are finite; one pass without a temporary, two only where the square overflows."""
    return math.isfinite(np.vdot(a, a)) or bool(np.isfinite(a).all())


def bounded(G: Array) -> bool:
    """Whether every unit vector's product with a row of G (q, p) is finite: it is at most sqrt(p) max |G|."""
    return math.isfinite(np.abs(G).max(initial=0) * math.sqrt(G.shape[1]))


def norms(R: Array) -> Array:
    """The norms of the rows of R (a, q), none of them zero, without a square that over- or underflows."""
    size = np.abs(R).max(axis=1)
    rows: Array = size * np.linalg.norm(R / size[:, None], axis=1)
    return rows


def squares(energy: Any) -> bool:
    """Whether a sum of squares neither over- nor underflowed."""
    info = np.finfo(energy.dtype)
    return bool(info.tiny / info.eps < energy < np.inf)


def by_rows(update: Update) -> Callable[..., int]:
    """`learn` of a rule: on a linear model a step's rows A are its gradients, and its errors are y - A w."""

    def learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
        B = p.batch_size
        for i in range(0, len(X), B):
            A = X[i : i + B]
            f = A.dot(s.w)  # on small arrays half the time of A @ w
            if out is not None:
                out[i : i + B] = f
            applied = update(s, A, Y[i : i + B] - f, p if len(X) == B else p.at(i // B))
            if not applied:
                if applied is None:
                    raise TypeError("update returned None, want True (applied) or False (not finite, s untouched)")
                return i
        return len(X)

    return learn


def by_block(update: Update) -> Callable[..., bool]:
    """`step` of a rule: one block of rows at once."""

    def step(s: Any, A: Array, Y: Array, p: Any) -> bool:
        return update(s, A, Y - A @ s.w, p)

    return step


def new_directions(U: Array, G: Array) -> tuple[Array, Array]:
    """Q (p, a) orthonormal and orthogonal to U, and R (a, q), with G - U U'G = Q R.

    A column of G whose residual after two orthogonalisations is at most sqrt(eps) of it is dependent: it brings
    no direction, so a is at most q.
    """
    Q = np.empty((len(G), 0), G.dtype)
    for column in G.T:
        if not (size := np.abs(column).max()) > 0:
            continue
        r = g = column / size  # so that no square over- or underflows
        for _ in range(2):  # once leaves eps cond(G) of U in r, twice leaves eps
            r = r - U @ (U.T @ r)
            r = r - Q @ (Q.T @ r)
        rho = np.linalg.norm(r)
        if rho > math.sqrt(np.finfo(G.dtype).eps) * np.linalg.norm(g):
            Q = np.column_stack([Q, r / rho])
    return Q, Q.T @ G


def damped_inverse(A: Array, eps: float) -> Array:
    """A'(A A' + eps I)^+ (p, k) by the SVD of A; singular values up to sqrt(machine eps) of the largest are zero."""
    size = max(np.abs(A).max(), 1)  # so that neither a singular value nor its square overflows
    V, sigma, Wt = np.linalg.svd(A / size, full_matrices=False)
    kept = sigma > math.sqrt(np.finfo(A.dtype).eps) * sigma[0]
    gain = np.divide(1, sigma + eps / size / size / sigma, out=np.zeros_like(sigma), where=kept)
    inverse: Array = (Wt.T * gain) @ (V.T / size)
    return inverse


def fitted(R: Array, E: Array) -> Array:
    """The z (a, r) with R'z = E, for (Q, R) = new_directions(U, G): the step Q z fits the gradients' errors.

    Where a column of G brought no direction of its own, least squares: what U spans already has no weight in R.
    """
    if R.shape[0] == R.shape[1]:
        return E / R if R.size == 1 else solve_triangular(R.T, E, lower=True, check_finite=False)
    z: Array = np.linalg.lstsq(R.T, E, rcond=0)[0]
    return z


def leading(U: Array, sigma: Array, Q: Array, R: Array, G: Array, m: int, t: int) -> tuple[Array, Array]:
    """The first m singular vectors (p, m) and values of [U Sigma, G], with (Q, R) = new_directions(U, G), in step t.

    From the SVD of [[Sigma, U'G], [0, R]], of which [U Q] is the left factor (thesis, eq. 3.3 and 3.4).
    """
    n, a, q = len(sigma), *R.shape
    M = np.zeros((n + a, n + q), U.dtype)
    M[:n, :n] = np.diag(sigma)
    M[:n, n:] = U.T @ G
    M[n:, n:] = R
    V, values, _ = np.linalg.svd(M, full_matrices=False)
    m = min(n + a, m)  # the columns of [U Q]; no more of the values can be nonzero
    U = np.column_stack([U, Q]) @ V[:, :m]
    if t % RENEWAL == 0:
        U = np.linalg.qr(U)[0]  # the columns to rounding and sign: every rotation cost some of their orthonormality
    return U, values[:m]


def append(s: Any, Q: Array) -> None:
    """Store the columns of Q as further rows of s.basis while there is room."""
    n = int(s.count[0])
    rows = Q.T[: len(s.basis) - n]
    s.basis[n : n + len(rows)] = rows
    s.count[0] = n + len(rows)
