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

from orfit_bench_cupy._precision_guard import DEGRADED, REFUSED, judge_rows
from orfit_bench_cupy._symmetric import downdate
from orfit_bench_cupy._transfers import Array, Host, fetch, invert_lower, run_on_host
from orfit_bench_numba._covariance import MIN_FEATURES

ROWS = 128
"""Rows of a block at most."""


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
    ff: float = 1.0,
    least: float = 1.0,
    most: float = math.inf,
) -> int:
    """Learn rows seen with these noises, after each of which P is divided by ff; returns how many were learned.

    s is the record that P and w are of, and `kernel` the host's, which decides of a block with a row that may be
    refused, from the parameters p.
    """
    within = max(1, int(math.log(10) / abs(math.log(ff)))) if ff != 1 else ROWS  # rows that lose one digit by ff
    wide = len(P) >= MIN_FEATURES
    size = min(within, ROWS) if wide else max(1, len(X))
    for done in range(0, len(X), size):
        part = slice(done, done + size)
        rows, told = (X[part], Y[part], noise[part]), None if out is None else out[part]
        if wide and learn_block(P, w, *rows, ff, least, most, s.digits_lost, told):
            continue
        learned = learn_on_host(s, *rows, p, told, kernel)
        if learned < len(X[part]):
            return done + learned
    return len(X)


def learn_on_host(s: Any, X: Array, Y: Array, noise: Host, p: Any, out: Array | None, kernel: Any) -> int:
    """What the host's kernel learns of the rows."""
    told = None if out is None else np.empty(out.shape, out.dtype)
    if hasattr(p, "observation_noise"):  # that of these rows alone
        p = p._replace(observation_noise=noise)
    learned = int(run_on_host(s, lambda t, x, y: kernel.learn(t, x, y, p, told), X, Y))
    if out is not None:
        out[...] = out.__array_namespace__().asarray(told)
    return learned


def learn_block(
    P: Array, w: Array, X: Array, Y: Array, noise: Host, ff: float, least: float, most: float, lost: Array, out: Any
) -> bool:
    """Learn the rows; False, and nothing is changed, where one of them might be refused."""
    xp, b = X.__array_namespace__(), len(X)
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
    says = judge_rows(s, left, left, rounded, reached, least)
    most_way = reach + np.abs(Z).sum() * math.sqrt(square)  # no weight is larger on the way
    told = F + np.tril(S @ T.T, -1) @ Z  # not finite also where a row that nobody saw is too large for S
    if says == REFUSED or not max(most_way, farthest) < np.finfo(X.dtype).max or not np.isfinite(told).all():
        return False
    if not (highest / (power * ff) < most)[seen].all():
        return False
    if out is not None:
        out[...] = xp.asarray(told)
    w += move
    downdate(P, V, ff**b)
    if says == DEGRADED:
        lost[...] = 1
    return True
