"""Recursive least squares for a block of rows at once, by matrix products on the device.

For b rows X with noises R_j and forgetting factor ff let r_j = ff^j R_j, X P X' + diag(r) = L L' and V = L^-1 X P.
In exact arithmetic, learning row after row gives P = ff^-b (P - V'V) and w + V'z with z = L^-1 (y - X w). Row j was
predicted as y_j - L_jj z_j, had variance s_j = L_jj^2 / ff^j, and was learned with the covariance
ff^-j (P - V'V of the rows before it). All reasons to refuse a row are therefore known before anything is written.
A block with such a row is learned in host memory, and so are blocks of few features: on the device they are not faster
and lose digits that row after row keeps if P shrinks a lot.

The factor of b x b numbers is computed on the CPU. On the device a row takes 4 d^2 + 4 b d flops.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from orfit_bench.kernels.guards import DEGRADED, NO_LIMITS, REFUSED, Limits
from orfit_bench_cupy._precision_guard import judge_rows
from orfit_bench_cupy._symmetric import downdate
from orfit_bench_cupy._transfers import Array, Host, fetch, invert_lower, run_on_host

MIN_FEATURES = 400
"""Features from which the device computes; the Numba kernel learns fewer in host memory."""
ROWS = 128
"""Most rows of a block."""


def learn_rows(
    s: Any,
    P: Array,
    w: Array,
    X: Array,
    Y: Array,
    noise: Host,
    p: Any,
    out: Array | None,
    kernel: Any,
    limits: Limits = NO_LIMITS,
) -> int:
    """Learn rows with these noises; returns how many were learned.

    P and w belong to the state s. A block with a row that may be refused is learned by `kernel`, the Numba kernel, with
    the parameters p.
    """
    ff = limits.ff
    within = max(1, int(math.log(10) / abs(math.log(ff)))) if ff != 1 else ROWS  # rows that lose one digit by ff
    wide = len(P) >= MIN_FEATURES
    size = min(within, ROWS) if wide else max(1, len(X))
    for done in range(0, len(X), size):
        part = slice(done, done + size)
        rows, predictions = (X[part], Y[part], noise[part]), None if out is None else out[part]
        if wide and learn_block(P, w, *rows, limits, s.precision_lost, predictions):
            continue
        learned = learn_on_host(s, *rows, p, predictions, kernel)
        if learned < len(X[part]):
            return done + learned
    return len(X)


def learn_on_host(s: Any, X: Array, Y: Array, noise: Host, p: Any, out: Array | None, kernel: Any) -> int:
    """Learn the rows by the Numba kernel in host memory."""
    predictions = None if out is None else np.empty(out.shape, out.dtype)
    if hasattr(p, "observation_noise"):  # that of these rows only
        p = p._replace(observation_noise=noise)
    learned = int(run_on_host(s, lambda t, x, y: kernel.learn(t, x, y, p, predictions), X, Y))
    if out is not None:
        out[...] = out.__array_namespace__().asarray(predictions)
    return learned


def learn_block(
    P: Array, w: Array, X: Array, Y: Array, noise: Host, limits: Limits, degraded: Array, out: Array | None
) -> bool:
    """Learn the rows; if one of them might be refused, return False and change nothing."""
    xp, b, ff = X.__array_namespace__(), len(X), limits.ff
    U = X @ P
    S, F, y = fetch(U @ X.T, X @ w, Y)
    gaps, power = np.asarray(np.isnan(y).any(axis=1)), ff ** np.arange(b, dtype=X.dtype)
    K = np.where(gaps | gaps[:, None], 0, S) + np.diag(np.where(gaps, 1, noise * power))
    try:
        L = np.linalg.cholesky(K)
    except np.linalg.LinAlgError:
        return False
    T = np.where(gaps, 0, invert_lower(L))
    T[gaps] = 0
    Z = T @ np.where(gaps[:, None], 0, y - F)
    V = xp.asarray(T) @ U
    move, after = V.T @ xp.asarray(Z), xp.diagonal(P) - xp.cumsum(V * V, axis=0)
    before = after + V * V
    size = xp.sum(xp.abs(X) * xp.sqrt(xp.abs(before)), axis=1)
    widest, highest, reach = xp.max(xp.abs(before), axis=1), xp.max(after, axis=1), xp.max(xp.abs(w))
    size, widest, highest, (reach, square, farthest) = fetch(
        size, widest, highest, xp.stack([reach, xp.sum(V * V), xp.max(xp.abs(move))])
    )
    pivot, seen = np.diagonal(L) ** 2, ~gaps
    found = (pivot / power, noise, np.finfo(X.dtype).eps * size**2 / pivot, widest / power)
    s, left, rounded, reached = (a[seen] for a in found)
    verdict = judge_rows(s, left, left, rounded, reached, limits.max_error)
    on_the_way = reach + np.abs(Z).sum() * math.sqrt(square)  # a bound of all weights on the way
    predictions = F + np.tril(S @ T.T, -1) @ Z  # not finite, too, if a row without target is too large for S
    if (
        verdict == REFUSED
        or not max(on_the_way, farthest) < np.finfo(X.dtype).max
        or not np.isfinite(predictions).all()
    ):
        return False
    if not (highest / (power * ff) < limits.max_variance)[seen].all():
        return False
    if out is not None:
        out[...] = xp.asarray(predictions)
    w += move
    downdate(P, V, ff**b)
    if verdict == DEGRADED:
        degraded[...] = 1
    return True
