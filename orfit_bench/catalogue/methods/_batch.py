"""Batch solutions: where a stream leads, by another road than the recursion. All in float64 on the host.

Shapes: X (n, d), Y (n, r), w0 (d, r).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def min_norm(X: Array, Y: Array, w0: Array) -> Array:
    """The w nearest to w0 that fits the independent rows of X (a dependent row is one the rules skip)."""
    kept = independent(X)
    w: Array = w0 + np.linalg.lstsq(X[kept], Y[kept] - X[kept] @ w0, rcond=None)[0]
    return w


def while_memory_lasts(X: Array, Y: Array, w0: Array, settings: Any) -> Array | None:
    """`min_norm` for a method that remembers `memory` rows: exact one row beyond (thesis, Proposition 2).

    Of a dependent row a step of several fits what it can; the step is then no min-norm problem of rows.
    """
    if settings["memory"] is not None and len(X) > settings["memory"] + 1:
        return None
    if settings.get("batch_size", 1) > 1 and len(independent(X)) < len(X):
        return None
    return min_norm(X, Y, w0)


def independent(X: Array) -> list[int]:
    """Rows that are no combination of earlier ones, to sqrt(eps): those that raise the rank of the rows before."""
    if len(X) <= X.shape[1] and _rank(X) == len(X):
        return list(range(len(X)))
    kept: list[int] = []
    for i in range(len(X)):
        if len(kept) < X.shape[1] and _residual(X[kept], X[i]) > np.sqrt(np.finfo(float).eps) * np.linalg.norm(X[i]):
            kept.append(i)
    return kept


def _rank(X: Array) -> int:
    return int(np.linalg.matrix_rank(X, tol=np.sqrt(np.finfo(float).eps) * np.linalg.norm(X, axis=1).min()))


def _residual(A: Array, x: Array) -> float:
    if not len(A):
        return float(np.linalg.norm(x))
    return float(np.linalg.norm(x - A.T @ np.linalg.lstsq(A.T, x, rcond=None)[0]))


def ridge(X: Array, Y: Array, w0: Array, ridge: float, forgetting: float) -> Array:
    """The w that minimises sum_i ff^(n-i) |y_i - x_i'w|^2 + ff^n ridge |w - w0|^2, by one orthogonal factorisation."""
    A, b = weighted(X, Y - X @ w0, ridge, forgetting)
    w: Array = w0 + np.linalg.lstsq(A, b, rcond=None)[0]
    return w


def weighted(X: Array, Y: Array, ridge: float, forgetting: float) -> tuple[Array, Array]:
    """Rows whose plain least squares is the weighted problem; scaled by the largest weight, so nothing overflows."""
    n, d = X.shape
    logs = np.append(np.arange(n - 1, -1, -1.0), n) * np.log(forgetting) / 2
    weight = np.exp(logs - logs.max())
    A = np.vstack([weight[:n, None] * X, weight[n] * np.sqrt(ridge) * np.eye(d)])
    return A, np.vstack([weight[:n, None] * Y, np.zeros((d, Y.shape[1]))])


def information(X: Array, settings: Any) -> Array | None:
    """Rows A with P = (A'A)^-1 for the same problem; None where there is no prior, or where A would overflow."""
    ridge, ff = settings["ridge"], settings["forgetting_factor"]
    if not (ff and ridge):
        return None
    A, _ = weighted(X, np.zeros((len(X), 1)), ridge, ff)
    log = max(0.0, len(X) * np.log(ff) / 2)  # of the largest weight, by which `weighted` divides
    return A * np.exp(log) if log < np.log(np.finfo(float).max) / 2 else None


def inverse_information(A: Array) -> Array:
    """(A'A)^-1 of rows A of full column rank, without forming the product."""
    half = np.linalg.inv(np.linalg.qr(A, mode="r"))
    inverse: Array = half @ half.T
    return inverse


def error_system(X: Array, steps: Array) -> Array:
    """L with L e = y - X w0 for w += steps_i e_i x_i: each row sees what the rows before it moved."""
    L: Array = np.eye(len(X)) + np.tril(X @ X.T, -1) * steps
    return L


def gradient_steps(X: Array, Y: Array, w0: Array, steps: Array) -> Array:
    """The end of w += steps_i e_i x_i, from the triangular system of its errors."""
    from scipy.linalg import solve_triangular

    e = solve_triangular(error_system(X, steps), Y - X @ w0, lower=True, unit_diagonal=True)
    w: Array = w0 + X.T @ (steps[:, None] * e)
    return w


def momentum_steps(
    X: Array, Y: Array, w0: Array, steps: Array, momentum: Array, ridge: float, batch_size: int
) -> tuple[Array, Array]:
    """All iterates (T + 1, d, r) of SGD on half the square with momentum, ridge and batches, the last one shorter.

    Also the triangular system (n, n) of the errors that they follow from. The iterates solve the second-order
    recurrence w_(t+1) = (1 - gamma_t ridge) v_t + gamma_t u_t, v_t = w_t + beta_t (w_t - w_(t-1)), u_t the mean of
    the batch's e_j x_j: so W = K [w_1; gamma_t u_t] and V = H [w_1; gamma_t u_t], and the errors are e = Y - X V.
    """
    from scipy.linalg import solve_triangular

    T, t = len(steps), np.arange(len(X)) // batch_size  # t: the step of each row
    K, H = responses(steps, momentum, ridge)
    share = (steps / np.bincount(t, minlength=T))[t]
    L = np.eye(len(X)) + (X @ X.T) * H[t][:, 1 + t] * share
    e = solve_triangular(L, Y - H[t, :1] * (X @ w0), lower=True, unit_diagonal=True)
    W = K[:, 0, None, None] * w0 + np.einsum("ki,id,ir->kdr", K[:, 1 + t] * share, X, e, optimize=True)
    return W, L


def responses(steps: Array, momentum: Array, ridge: float) -> tuple[Array, Array]:
    """K (T + 1, T + 1) and H (T, T + 1) of `momentum_steps`, by inverting its banded system."""
    from scipy.linalg import solve_triangular

    T, rho, beta = len(steps), 1 - steps * ridge, np.append(0.0, momentum[1:])  # beta_1 acts on nothing
    ahead = np.eye(T, T + 1) * (1 + beta)[:, None] - np.eye(T, T + 1, -1) * beta[:, None]  # V = ahead W
    system = np.eye(T + 1)
    system[1:] -= rho[:, None] * ahead
    K = solve_triangular(system, np.eye(T + 1), lower=True, unit_diagonal=True)
    return K, ahead @ K
