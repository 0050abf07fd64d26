"""Affine projection (survey, APA; with all rows APA-dagger).

Rows are learned one after another by `_sliding_apa`, a single row by `_apa_row`. They square the rows, so a window of
nearly dependent rows is solved by an SVD. Write w and the window.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from orfit_bench.kernels.linalg import regularized_inverse
from orfit_bench_numba import _complex_apa
from orfit_bench_numba._apa_fleets import make_apa_fleet_learn
from orfit_bench_numba._apa_row import learn_row, make_workspace
from orfit_bench_numba._arrays import Array
from orfit_bench_numba._sliding_apa import MAX_CONDITION, RENEWAL_PERIOD, learn_rows
from orfit_bench_numpy.apa import step_members as step_members

COMPLEX = True


def learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
    """Each row: w <- w + step A'(A A' + eps I)^+ (b - A w), A the last rows, this one included."""
    if X.dtype.kind == "c":
        return _complex_apa.learn(s, X, Y, p, out)
    done, predictions = 0, np.empty(Y.shape, Y.dtype) if out is None else out
    if len(X) == 1 and Y.shape[1] == 1 and (bound := bind_row(s, p)):
        np.dot(X, s.w, predictions)
        if bound(X[0], Y[0, 0]):
            return 1
    while done < len(X):
        part = slice(done, min(done + RENEWAL_PERIOD, len(X)))
        learned = learn_block(s, X[part], Y[part], p.step_size[part], p, predictions[part])
        if not learned:
            A, here = X[done : done + 1], slice(done, done + 1)
            predictions[here] = A @ s.w
            learned = int(update(s, A, Y[here] - predictions[here], p.at(done)))
            if not learned:
                return done
        done += learned
    return done


def learn_block(s: Any, X: Array, Y: Array, step: Array, p: Any, predictions: Array) -> int:
    """Learn the first rows of X; returns how many: none if the rows of the window nearly depend on each other."""
    n, kind, w = int(s.count[0]), np.finfo(X.dtype), s.w
    max_size = 2.0 ** (kind.maxexp // 4)
    k = min(n, p.projection_order - 1)
    if k >= X.shape[1] or not max(w.max(), -w.min()) < max_size**3:
        return 0
    old, limits = slice(n - k, n), (min(p.projection_order, k + len(X)), p.eps, max_size)
    W, window, condition = np.ascontiguousarray(w.T), (s.rows[old], s.targets[old]), MAX_CONDITION
    learned = 0
    if X.dtype == np.float32:
        learned = int(learn_rows(W, window, X, Y, step, predictions, *limits, 0.0))
        condition = 0.25 / float(kind.eps) ** 0.5
    if not learned:  # in float64, since float32 has too few digits for the products of correlated rows
        W, A, b, *rows, found = (np.asarray(a, float, order="C") for a in (W, *window, X, Y, step, predictions))
        learned = int(learn_rows(W, (A, b), *rows, found, *limits, condition))
        predictions[:learned] = found[:learned]
    w[...] = W.T
    append_to_window(s, X[:learned], Y[:learned])
    return learned


def bind_row(s: Any, p: Any) -> Callable[[Array, float], int] | None:
    """The same for one row of real numbers with one output; None if the window may hold more than d rows."""
    order, w = p.projection_order, s.w
    if w.dtype.kind == "c" or order is None or order > len(w):
        return None
    entry = learn_row.entry_point(w.dtype)
    arrays = w.reshape(-1), s.rows, s.targets, s.count, make_workspace(order, len(w), w.dtype), order
    max_size, condition = 2.0 ** (np.finfo(w.dtype).maxexp // 4), 0.0 if w.dtype == np.float32 else MAX_CONDITION
    step, limits = p.step_size, (float(p.eps), max_size, condition)

    def learn(x: Array, y: float) -> int:
        learned: int = entry(*arrays, x, y, step[0], *limits)
        return learned

    return learn


def append_to_window(s: Any, X: Array, Y: Array) -> None:
    """Append rows to the window; the oldest leave a full one."""
    n, size = int(s.count[0]), len(s.rows)
    X, Y = X[-size:], Y[-size:]
    keep = min(n, size - len(X))
    for window, new in ((s.rows, X), (s.targets, Y)):
        if keep < n:
            window[:keep] = window[n - keep : n]
        window[keep : keep + len(new)] = new
    s.count[0] = keep + len(X)


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """The same step for q gradients at once, by the SVD of the window."""
    q, n = len(J), int(s.count[0])
    b_new = E + J @ s.w
    keep = min(n, len(s.rows) - q)
    A, b = np.concatenate([s.rows[n - keep : n], J]), np.concatenate([s.targets[n - keep : n], b_new])
    w = s.w + p.step_size[0] * regularized_inverse(A, p.eps).times(b - A @ s.w)
    if not np.isfinite(w).all():
        return False
    s.w[...] = w
    append_to_window(s, J, b_new)
    return True


fleet_learn = make_apa_fleet_learn(learn)
