"""Batch solutions of least-squares problems, computed without the streaming recursion, in float64 on the CPU.

Shapes: X (n, d), Y (n, r), w0 (d, r).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.spec import Array

BLOCK_ROWS = 4096
"""Number of rows of one orthogonal factorization of a ridge problem."""


def solve_min_norm(X: Array, Y: Array, w0: Array) -> Array:
    """The w nearest to w0 that fits the independent rows of X; the learners skip dependent rows."""
    kept = independent_rows(X)
    w: Array = w0 + np.linalg.lstsq(X[kept], Y[kept] - X[kept] @ w0, rcond=None)[0]
    return w


def min_norm_within_memory(X: Array, Y: Array, w0: Array, settings: Any) -> Array | None:
    """`solve_min_norm` for a method that stores `memory` directions, for at most one row more (thesis, Proposition 2).

    None otherwise. A step of several rows fits a dependent row by least squares, which is not a min-norm problem.
    """
    if settings["memory"] is not None and len(X) > settings["memory"] + 1:
        return None
    if settings.get("batch_size", 1) > 1 and len(independent_rows(X)) < len(X):
        return None
    return solve_min_norm(X, Y, w0)


def independent_rows(X: Array) -> list[int]:
    """Indices of the rows that are not linear combinations of earlier rows, up to sqrt(eps)."""
    smallest = np.linalg.norm(X, axis=1).min(initial=np.inf)
    limit = np.sqrt(np.finfo(float).eps)
    if len(X) <= X.shape[1] and smallest and np.linalg.matrix_rank(X, tol=limit * smallest) == len(X):
        return list(range(len(X)))
    kept: list[int] = []
    basis = np.empty((min(X.shape), X.shape[1]), X.dtype)  # orthonormal rows that span the rows kept
    for i, x in enumerate(X):
        if len(kept) == X.shape[1]:
            break
        U = basis[: len(kept)]
        r = x - (U.conj() @ x) @ U
        r -= (U.conj() @ r) @ U  # the rounding errors of the first projection
        norm = np.linalg.norm(r)
        if norm > limit * np.linalg.norm(x):
            basis[len(kept)] = r / norm
            kept.append(i)
    return kept


def solve_ridge(X: Array, Y: Array, w0: Array, ridge: float, forgetting: float) -> Array:
    """The w that minimizes sum_i ff^(n-i) |y_i - x_i'w|^2 + ff^n ridge |w - w0|^2, by one orthogonal factorization."""
    n, d = X.shape
    if n <= BLOCK_ROWS:
        A, b = weighted_rows(X, Y - X @ w0, ridge, forgetting)
        return np.asarray(w0 + np.linalg.lstsq(A, b, rcond=None)[0])
    weights = row_weights(n, forgetting)
    R: Any = np.empty((0, d + Y.shape[1]))
    for i in range(0, n, BLOCK_ROWS):  # the triangular factor of all rows so far replaces them
        rows = slice(i, i + BLOCK_ROWS)
        both = np.hstack([X[rows], Y[rows] - X[rows] @ w0])
        R = np.linalg.qr(np.vstack([R, weights[:n][rows, None] * both]), mode="r")
    prior = np.hstack([weights[n] * np.sqrt(ridge) * np.eye(d), np.zeros((d, Y.shape[1]))])
    A = np.vstack([R, prior])
    return np.asarray(w0 + np.linalg.lstsq(A[:, :d], A[:, d:], rcond=None)[0])


def ridge_solution(X: Array, Y: Array, w0: Array, settings: Any) -> Array:
    """`solve_ridge` with the settings of a method; a classifier has one-hot rows Y (n, classes)."""
    return solve_ridge(X, Y, w0, settings["ridge"], settings["forgetting_factor"])


def row_weights(n: int, forgetting: float) -> Array:
    """The square roots of the weights of n rows and of the prior (n + 1,), divided by the largest."""
    logs = np.append(np.arange(n - 1, -1, -1.0), n) * np.log(forgetting) / 2
    weights: Array = np.exp(logs - logs.max())
    return weights


def weighted_rows(X: Array, Y: Array, ridge: float, forgetting: float) -> tuple[Array, Array]:
    """Rows whose ordinary least-squares problem is the weighted one, divided by the largest weight against overflow."""
    (n, d), weight = X.shape, row_weights(len(X), forgetting)
    A = np.vstack([weight[:n, None] * X, weight[n] * np.sqrt(ridge) * np.eye(d)])
    return A, np.vstack([weight[:n, None] * Y, np.zeros((d, Y.shape[1]))])


def information_rows(X: Array, settings: Any) -> Array | None:
    """Rows A with P = (A'A)^-1 for the same problem; None without a prior, or if A would overflow."""
    ridge, ff = settings["ridge"], settings["forgetting_factor"]
    if not (ff and ridge):
        return None
    A, _ = weighted_rows(X, np.zeros((len(X), 1)), ridge, ff)
    log = max(0.0, len(X) * np.log(ff) / 2)  # of the largest weight, by which `weighted_rows` divides
    return A * np.exp(log) if log < np.log(np.finfo(float).max) / 2 else None


def invert_information(A: Array) -> Array:
    """(A'A)^-1 of rows A of full column rank, without forming the product."""
    half = np.linalg.inv(np.linalg.qr(A, mode="r"))
    inverse: Array = half @ half.T
    return inverse


def affine_projections(X: Array, Y: Array, w0: Array, settings: Any) -> Array:
    """The final w of affine projection: each step is a regularized least-squares problem, solved by a factorization."""
    w, order, eps = w0.copy(), settings["projection_order"] or len(X), settings["eps"]
    steps = settings["step_size"](np.arange(1, len(X) + 1))
    for t in range(len(X)):
        A, b = X[max(0, t + 1 - order) : t + 1], Y[max(0, t + 1 - order) : t + 1]
        w = w + steps[t] * regularized_move(A, b - A @ w, eps)
    return w


def regularized_move(A: Array, errors: Array, eps: float) -> Array:
    """The z that minimizes |A z - errors|^2 + eps |z|^2; for eps = 0, the smallest such z."""
    k, d = A.shape
    if not eps:
        return np.asarray(np.linalg.pinv(A, rcond=np.sqrt(np.finfo(float).eps)) @ errors)
    root = np.sqrt(eps)
    if k > d:  # errors outside the range of A, which are part of v = (errors - A z) / root, are large compared with z
        extended = np.vstack([A, root * np.eye(d)])
        return np.asarray(np.linalg.lstsq(extended, np.pad(errors, ((0, d), (0, 0))), rcond=None)[0])
    both = np.hstack([A, root * np.eye(k)])  # the smallest (z, v) with A z + root v = errors
    return np.asarray(np.linalg.lstsq(both, errors, rcond=None)[0][:d])
