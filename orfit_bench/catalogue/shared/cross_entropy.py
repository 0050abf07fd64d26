"""The cross-entropy of labels, with its minimum and gradient steps computed without the streaming recursion.

Shapes: X (n, d), Y (n, r) one-hot, w (d, r).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from orfit_bench.spec import Array


def softmax(scores: Array) -> Array:
    """Probabilities (n, r) of the classes from scores, without overflow."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def dual_steps(X: Array, Y: Array, steps: Array, ridge: float, all_known: bool = False) -> Array:
    """The w after a gradient step for each row, as w = X'A: the coefficients A need only the products of rows.

    A class takes part from its first row, or with `all_known` from the start.
    """
    K, A, known = X @ X.T, np.zeros(Y.shape), np.full(Y.shape[1], all_known)
    for t, step in enumerate(steps):
        known |= Y[t] > 0
        scores = K[t, :t] @ A[:t]
        A[:t] *= 1 - step * ridge
        A[t, known] = step * (Y[t, known] - softmax(scores[None, known])[0])
    return np.asarray(X.T @ A)


def gradient(X: Array, Y: Array, w: Array, ridge: float) -> Array:
    """The gradient of the mean cross-entropy of the scores X w plus ridge/2 |w|^2."""
    return gradient_of_scores(lambda v: X @ v, Y, w, ridge)


def gradient_of_scores(scores: Callable[[Array], Array], Y: Array, w: Array, ridge: float) -> Array:
    """The gradient for scores(w) (n, r) that are analytic in w, by a complex step for each entry."""
    h, found = 1e-30, np.empty_like(w)
    for index in np.ndindex(*w.shape):
        moved = w.astype(complex)
        moved[index] += 1j * h
        F = scores(moved)
        top = F.real.max(axis=1, keepdims=True)
        losses = np.log(np.exp(F - top).sum(axis=1)) + top[:, 0] - (F * Y).sum(axis=1)
        found[index] = losses.imag.mean() / h + ridge * w[index]
    return found


def minimize(X: Array, Y: Array, ridge: float) -> tuple[Array, float]:
    """The w that minimizes mean cross-entropy plus ridge/2 |w|^2 (Newton's method), and the condition number."""
    (n, d), r = X.shape, Y.shape[1]
    w, H = np.zeros((d, r)), np.eye(d * r)
    for _ in range(50):
        Q = softmax(X @ w)
        g = X.T @ (Q - Y) / n + ridge * w
        weights = np.eye(r) * Q[:, None] - Q[:, :, None] * Q[:, None]  # (n, r, r)
        H = np.einsum("ni,nkl,nj->ikjl", X, weights, X).reshape(d * r, d * r) / n + ridge * np.eye(d * r)
        move = np.linalg.solve(H, g.ravel()).reshape(d, r)
        w -= move
        if np.abs(move).max() <= 1e-15 * np.abs(w).max():
            break
    return w, float(np.linalg.cond(H))
