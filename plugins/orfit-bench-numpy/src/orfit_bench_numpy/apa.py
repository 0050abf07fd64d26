"""Affine projection, declared in `orfit_bench/catalogue/methods/apa.py` (survey, the programs (APA), (APA-dagger)).

Shapes: A (k, p) the stored rows and the new ones, b (k, r) their targets, J (q, p) new rows, w (p, r).
"""

import numpy as np

from orfit_bench.kernels.fleets import make_batched_learn
from orfit_bench.kernels.guards import is_finite
from orfit_bench.kernels.loops import Array, make_learn
from orfit_bench.kernels.regularized_inverse import RegularizedInverse, regularized_inverse
from orfit_bench.spec.kernel_arguments import FleetParams, Params, State


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """Take one step on the last `projection_order` rows, including the new ones."""
    q, n = len(J), int(s.count[0])
    b_new = E + J @ s.w  # for a model: the targets of the linearized rows, which do not change with w
    keep = min(n, len(s.rows) - q)  # s.rows has room for projection_order rows, or for all
    A = np.concatenate([s.rows[n - keep : n], J])
    b = np.concatenate([s.targets[n - keep : n], b_new])
    w = s.w + p.step_size[0] * regularized_inverse(A, p.eps).times(b - A @ s.w)  # w + step A'(A A' + eps I)^+ (b - A w)
    if not is_finite(w):
        return False
    s.w[...] = w
    s.rows[: keep + q], s.targets[: keep + q] = A, b
    s.count[0] = keep + q
    return True


COMPLEX = True
MAX_NUMBERS = 2**13
"""The largest number of entries in windows that are decomposed together."""
learn_growing = make_learn(update)


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """Learn row by row; full windows (k, p) are decomposed together, which takes a third of the time."""
    k, d = p.projection_order, X.shape[1]
    if len(s.rows) < k:  # the state has no room for a full window, since the chunk does not reach it
        return learn_growing(s, X, Y, p, out)
    growing = slice(0, max(0, k - 1 - int(s.count[0])))
    learned = learn_growing(s, X[growing], Y[growing], p, None if out is None else out[growing])
    size = max(1, MAX_NUMBERS // (k * d))
    while learned < len(X) and learned >= growing.stop:
        rows = slice(learned, learned + size)
        done = learn_full_windows(s, X[rows], Y[rows], p.at(learned, len(X[rows])), None if out is None else out[rows])
        learned += done
        if done < len(X[rows]):
            break
    return learned


def learn_full_windows(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """w <- w + step A'(A A' + eps I)^+ (b - A w) for each window A, b of k rows that ends with a row of X."""
    k, n, w, learned = len(s.rows), int(s.count[0]), s.w.copy(), 0
    rows = np.concatenate([s.rows[n - k + 1 : n], X])
    targets = np.concatenate([s.targets[n - k + 1 : n], np.empty_like(Y)])
    windows = rows[np.arange(len(X))[:, None] + np.arange(k)]  # (len(X), k, p)
    inverses = map(RegularizedInverse, *regularized_inverse(windows, np.full(len(X), p.eps)))
    for A, inverse, x, y, step in zip(windows, inverses, X, Y, p.step_size, strict=True):
        f = x.dot(w)
        if out is not None:
            out[learned] = f
        targets[learned + k - 1] = y - f + f  # rounded as in `update`
        moved = w + step * inverse.times(targets[learned : learned + k] - A @ w)
        if not is_finite(moved):
            break
        w, learned = moved, learned + 1
    if learned:
        s.w[...], s.rows[...], s.targets[...] = w, windows[learned - 1], targets[learned - 1 : learned - 1 + k]
        s.count[0] = k
    return learned


def step_members(s: State, x: Array, e: Array, p: FleetParams, j: Array, row: Array) -> Array:
    """Learn one row of each of m members, together for windows of equal length: x (m, p) rows, e (m, r) errors.

    See `orfit_bench.kernels.fleets.Step` for j and row.
    """
    b_new, applied = e + (x[:, None] @ s.w)[:, 0], np.zeros(len(x), bool)
    step, eps = p.step_size[row].astype(x.dtype), p.eps[j].astype(x.dtype)
    counts = s.count[:, 0].copy()  # before the step, so that every member takes one step
    for n in np.unique(counts):
        i = np.flatnonzero(counts == n)
        keep = min(n, s.rows.shape[1] - 1)
        A = np.concatenate([s.rows[i, n - keep : n], x[i, None]], axis=1)  # (m, k, p)
        b = np.concatenate([s.targets[i, n - keep : n], b_new[i, None]], axis=1)  # (m, k, r)
        move = regularized_inverse(A, eps[i]).times(b - A @ s.w[i])  # A'(A A' + eps I)^+ (b - A w)
        w = s.w[i] + step[i, None, None] * move
        finite = np.isfinite(w).all(axis=(1, 2))
        i = i[finite]
        s.w[i], s.rows[i, : keep + 1], s.targets[i, : keep + 1] = w[finite], A[finite], b[finite]
        s.count[i], applied[i] = keep + 1, True
    return applied


fleet_learn = make_batched_learn(step_members)
