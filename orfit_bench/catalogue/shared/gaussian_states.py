"""The survey's linear Gaussian model (LGM) as one joint normal distribution of all states, conditioned on the rows.

Shapes: n steps of d parameters, r outputs; F, Q (n, d, d) of the move to each step (the first entry is not used).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from orfit_bench.spec import Array


class States(NamedTuple):
    """Mean (n, d, r) and covariance (n, d, n, d) of all states, and the condition number of the solve."""

    mean: Array
    covariance: Array
    condition: float = 1.0

    def of(self, i: int) -> tuple[Array, Array]:
        """The moments of step i."""
        return self.mean[i], self.covariance[i, :, i]


def joint_prior(F: Array, Q: Array, mean: Array, covariance: Array) -> States:
    """The moments before any row: M theta = (theta_1, w_2, ..., w_n) with M unit block lower bidiagonal."""
    n, d = len(F), len(covariance)
    M, D = np.eye(n * d), np.zeros((n * d, n * d))
    D[:d, :d] = covariance
    for i in range(1, n):
        here, last = slice(i * d, (i + 1) * d), slice((i - 1) * d, i * d)
        M[here, last], D[here, here] = -F[i], Q[i]
    B = np.linalg.inv(M)
    return States((B[:, :d] @ mean).reshape(n, d, -1), (B @ D @ B.T).reshape(n, d, n, d))


def condition_on_rows(states: States, rows: list[tuple[int, Array, Array, Array]]) -> States:
    """Moments given y = X theta_i + noise of covariance R for all (i, X (q, d), y (q, r), R (q, q)): eq. (13)."""
    n, d, r = states.mean.shape
    if not rows:
        return states
    H, R = np.zeros((0, n * d)), np.zeros((0, 0))
    for i, X, _, noise in rows:
        row = np.zeros((len(X), n, d))
        row[:, i] = X
        H, R = np.vstack([H, row.reshape(len(X), -1)]), _block_diagonal(R, noise)
    m, C = states.mean.reshape(-1, r), states.covariance.reshape(n * d, -1)
    S = H @ C @ H.T + R
    gain = np.linalg.solve(S, H @ C).T
    y = np.vstack([y for _, _, y, _ in rows])
    mean, covariance = m + gain @ (y - H @ m), C - gain @ H @ C
    return States(mean.reshape(n, d, r), covariance.reshape(n, d, n, d), float(np.linalg.cond(S)))


def _block_diagonal(A: Array, B: Array) -> Array:
    """The block diagonal matrix of A and B."""
    a, b = len(A), len(B)
    both = np.zeros((a + b, a + b))
    both[:a, :a], both[a:, a:] = A, B
    return both


def covariance_root(P: Array) -> Array:
    """B (d, rank) with P = B B'; rounding errors of each row are relative to the standard deviation of that row."""
    size = np.sqrt(np.maximum(np.diagonal(P), 0))
    unit = np.divide(1, size, out=np.zeros_like(size), where=size > 0)[:, None]
    values, U = np.linalg.eigh(unit * P * unit.T)
    kept = values > len(P) * np.finfo(float).eps * values[-1]
    return np.asarray(size[:, None] * U[:, kept] * np.sqrt(values[kept]))


def lower_root(B: Array) -> Array:
    """The lower triangular S (d, d) with nonnegative diagonal and S S' = B B', for B (d, k)."""
    d, k = B.shape
    T: Any = np.linalg.qr(np.hstack([B, np.zeros((d, max(0, d - k)))]).T, mode="r")
    return with_positive_diagonal(T).T


def with_positive_diagonal(T: Array) -> Array:
    """T with each row multiplied by a number of absolute value 1, so that its diagonal is nonnegative."""
    diagonal = np.diagonal(T)
    size = np.abs(diagonal)
    return np.asarray(T * np.divide(size, diagonal, out=np.ones_like(diagonal), where=size > 0)[:, None])
