"""Batch solutions of gradient steps: the a-priori errors of all rows solve one triangular system.

Shapes: X (n, d), Y (n, r), w0 (d, r), steps (n,).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.spec import Array


def error_system(X: Array, steps: Array) -> Array:
    """The matrix L with L e = y - X w0 for the recursion w += steps_i e_i x_i."""
    L: Array = np.eye(len(X)) + np.tril(X @ X.T, -1) * steps
    return L


BLOCK_ROWS = 1024
"""Number of rows of one triangular system: later rows start from its w, so that memory does not grow with n^2."""


def gradient_steps(X: Array, Y: Array, w0: Array, steps: Array) -> Array:
    """The final w of the recursion w += steps_i e_i x_i, from the triangular systems of its errors."""
    from scipy.linalg import solve_triangular

    w = w0
    for i in range(0, len(X), BLOCK_ROWS):
        rows = slice(i, i + BLOCK_ROWS)
        x, step = X[rows], steps[rows]
        e = solve_triangular(error_system(x, step), Y[rows] - x @ w, lower=True, unit_diagonal=True)
        w = w + x.T @ (step[:, None] * e)
    return w


def momentum_steps(
    X: Array, Y: Array, w0: Array, steps: Array, momentum: Array, ridge: float, batch_size: int
) -> tuple[Array, Array]:
    """All iterates (T + 1, d, r) of SGD on half the squared error with momentum, ridge and batches (the last shorter).

    Also the triangular system (n, n) that determines their errors. The iterates solve the second-order recurrence
    w_(t+1) = (1 - gamma_t ridge) v_t + gamma_t u_t, v_t = w_t + beta_t (w_t - w_(t-1)), u_t the mean of
    the batch's e_j x_j: so W = K [w_1; gamma_t u_t] and V = H [w_1; gamma_t u_t], and the errors are e = Y - X V.
    """
    from scipy.linalg import solve_triangular

    T, t = len(steps), np.arange(len(X)) // batch_size  # t: the step of each row
    K, H = momentum_responses(steps, momentum, ridge)
    share = (steps / np.bincount(t, minlength=T))[t]
    L = np.eye(len(X)) + (X @ X.T) * H[t][:, 1 + t] * share
    e = solve_triangular(L, Y - H[t, :1] * (X @ w0), lower=True, unit_diagonal=True)
    W = K[:, 0, None, None] * w0 + np.einsum("ki,id,ir->kdr", K[:, 1 + t] * share, X, e, optimize=True)
    return W, L


def momentum_responses(steps: Array, momentum: Array, ridge: float) -> tuple[Array, Array]:
    """K (T + 1, T + 1) and H (T, T + 1) of `momentum_steps`, by inverting its banded system."""
    from scipy.linalg import solve_triangular

    T, rho, beta = len(steps), 1 - steps * ridge, np.append(0.0, momentum[1:])  # beta_1 has no effect
    ahead = np.eye(T, T + 1) * (1 + beta)[:, None] - np.eye(T, T + 1, -1) * beta[:, None]  # V = ahead W
    system = np.eye(T + 1)
    system[1:] -= rho[:, None] * ahead
    K = solve_triangular(system, np.eye(T + 1), lower=True, unit_diagonal=True)
    return K, ahead @ K


def normalized_steps(X: Array, step: Any, eps: float) -> Array:
    """step / (eps + x'x) for each row; 0 for a row of zeros."""
    energy = eps + np.vecdot(X, X)
    steps: Array = np.divide(step, energy, out=np.zeros(len(X)), where=energy > 0)
    return steps


def projected_steps(X: Array, Y: Array, w0: Array, steps: Array) -> Array:
    """The final w of the recursion w += steps_i e_i r_i, r_i the residual of row i off the earlier rows.

    With X = L Q' row t moves w by step_t e_t l_tt q_t: e = y - X w0 - strictly-lower(L) diag(step diag L) e.
    """
    Qt, Rt = np.linalg.qr(X.T)
    sign = np.sign(np.diagonal(Rt))
    L, Q = (Rt * sign[:, None]).T, Qt * sign
    scale = steps * np.diagonal(L)
    e = np.linalg.solve(np.eye(len(X)) + np.tril(L, -1) * scale, Y - X @ w0)
    w: Array = w0 + Q @ (scale[:, None] * e)
    return w
