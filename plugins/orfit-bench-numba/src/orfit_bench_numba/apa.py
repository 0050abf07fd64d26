"""Affine projection (survey, APA; with all rows APA-dagger).

Rows are learned one after another by `_sliding_apa`, a single row by `_apa_row`, and windows with more rows than
features by `_tall_apa`. These use squares of the rows, so windows of nearly dependent rows or columns are solved by an
SVD. All write w and the window.
"""

from functools import partial
from typing import Any

import numpy as np

from orfit_bench.kernels.guards import is_finite, moderate_size
from orfit_bench.kernels.regularized_inverse import regularized_inverse
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numba import _complex_apa, _tall_apa
from orfit_bench_numba._apa_fleets import make_apa_fleet_learn
from orfit_bench_numba._apa_row import learn_row, make_workspace
from orfit_bench_numba._arrays import LONGEST, Array, BoundRow, BoundRows
from orfit_bench_numba._finite import NOT_FINITE
from orfit_bench_numba._network_gradients import by_gradients
from orfit_bench_numba._sliding_apa import MAX_CONDITION, WINDOW_PERIOD, condition_limit, learn_rows
from orfit_bench_numpy import apa as reference
from orfit_bench_numpy.apa import step_members

__all__ = ["bind_row", "bind_rows", "fleet_learn", "for_network", "learn", "step_members", "update"]

COMPLEX = True
MAX_TOGETHER = 64
"""Largest number of rows that the reference learns together."""


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """For each row: w <- w + step A'(A A' + eps I)^+ (b - A w), where A are the last rows including this one.

    If the window can have more rows than features, rows are often dependent for a long time. The reference then learns
    twice as many rows each time, together.
    """
    if X.dtype.kind == "c":
        return _complex_apa.learn(s, X, Y, p, out)
    predictions = np.empty(Y.shape, Y.dtype) if out is None else out
    if len(X) == 1 and Y.shape[1] == 1 and (bound := bind_row(s, p)):
        np.dot(X, s.w, predictions)
        if bound(X[0], Y[0, 0]):
            return 1
    done, many, d = 0, 1, X.shape[1]
    may_be_tall = p.projection_order > d
    while done < len(X):
        rows_kept = min(int(s.count[0]), p.projection_order - 1)
        learn_some = learn_tall if rows_kept >= d else learn_block
        most = d - rows_kept if may_be_tall and rows_kept < d else WINDOW_PERIOD
        part = slice(done, min(done + most, len(X)))
        learned = learn_some(s, X[part], Y[part], p.step_size[part], p, predictions[part])
        if learned:
            many = 1
        else:
            here, n = slice(done, done + many), len(X[done : done + many])
            learned = learn_by_svd(s, X[here], Y[here], p.at(done, n), predictions[here])
            if learned < n:
                return done + learned
            many = min(2 * many, MAX_TOGETHER) if may_be_tall else 1
        done += learned
    return done


def learn_block(s: State, X: Array, Y: Array, step: Array, p: Params, predictions: Array) -> int:
    """Learn the first rows of X; returns how many: none if the rows of the window are nearly dependent."""
    n, w = int(s.count[0]), s.w
    if not max(w.max(), -w.min()) < moderate_size(X.dtype) ** 3:
        return 0
    k = min(n, p.projection_order - 1)
    old, limits = slice(n - k, n), (min(p.projection_order, k + len(X)), p.eps, moderate_size(X.dtype))
    W, window = np.ascontiguousarray(w.T), (s.rows[old], s.targets[old])
    learned = 0
    if X.dtype == np.float32:
        learned = int(learn_rows(W, window, X, Y, step, predictions, *limits, 0.0))
    if not learned:  # in float64, since float32 has too few digits for the products of correlated rows
        W, A, b, *rows, found = (np.asarray(a, float, order="C") for a in (W, *window, X, Y, step, predictions))
        learned = int(learn_rows(W, (A, b), *rows, found, *limits, max_condition(X.dtype)))
        predictions[:learned] = found[:learned]
    w[...] = W.T
    append_to_window(s, X[:learned], Y[:learned])
    return learned


def learn_tall(s: State, X: Array, Y: Array, step: Array, p: Params, predictions: Array) -> int:
    """Learn the first rows of X with windows of more than d rows, in float64."""
    fields = s.w.T, s.rows, s.targets
    limits = min(p.projection_order, LONGEST), p.eps, moderate_size(X.dtype), max_condition(X.dtype)
    W, A, b, *rows, found = (np.asarray(a, float, order="C") for a in (*fields, X, Y, step, predictions))
    learned = int(_tall_apa.learn_rows(W, A, b, s.count, *rows, found, *limits))
    predictions[:learned] = found[:learned]
    for field, new in zip(fields, (W, A, b), strict=True):
        if learned and not np.may_share_memory(field, new):
            field[...] = new
    return learned


def max_condition(dtype: Any) -> float:
    """The largest condition number of a window, in float64, that is surely below the cut-off of this dtype."""
    return 0.25 / float(np.finfo(dtype).eps) ** 0.5 if dtype == np.float32 else MAX_CONDITION


def bind_row(s: State, p: Params) -> BoundRow | None:
    """A function that learns one row of real numbers with one output."""
    order, w = min(p.projection_order, LONGEST), s.w
    if w.dtype.kind == "c":
        return None
    limits = float(p.eps), moderate_size(w.dtype), condition_limit(w.dtype)
    if order > len(w):
        return bind_tall_row(s, p.step_size, order, limits)
    entry = learn_row.entry_point(w.dtype)
    arrays = w.reshape(-1), s.rows, s.targets, s.count, make_workspace(order, len(w), w.dtype), order
    step = p.step_size

    def learn(x: Array, y: float) -> int:
        learned: int = entry(*arrays, x, y, step[0], *limits)
        return learned

    return learn


def bind_rows(s: State, p: Params) -> BoundRows | None:
    """A function that learns rows of real numbers with one output; None while the arrays of the window still grow."""
    has_room = len(s.rows) >= p.projection_order
    return partial(learn_numbers, s, p) if has_room and s.w.dtype.kind == "f" else None


def learn_numbers(s: State, p: Params, X: Array, y: Array, out: Array) -> int:
    """Learn rows with one output; NOT_FINITE, and nothing is changed, if a number is not finite."""
    with np.errstate(all="ignore"):  # a bound function is called without
        if not (is_finite(X) and is_finite(y)):
            return NOT_FINITE
        steps = p._replace(step_size=np.full(len(X), p.step_size[0]))
        return learn(s, X, y[:, None], steps, out[:, None] if len(out) else None)


def bind_tall_row(s: State, step: Array, order: int, limits: tuple[float, ...]) -> BoundRow:
    """A function that learns one row in windows of more than d rows; it does not learn the first d rows."""
    dtype, shape = s.w.dtype, (1, len(s.w))
    entry, Y = _tall_apa.learn_rows.entry_point(dtype), np.empty((1, 1), dtype)
    window = s.w.reshape(shape), s.rows, s.targets, s.count
    rest = Y, step, np.empty_like(Y), order, *limits

    def learn(x: Array, y: float) -> int:
        Y[0, 0] = y
        learned: int = entry(*window, x.reshape(shape), *rest)
        return learned

    return learn


def learn_by_svd(s: State, X: Array, Y: Array, p: Params, predictions: Array) -> int:
    """Learn the first rows of X by the SVD of each window."""
    if len(X) > 1:
        return int(reference.learn(s, X, Y, p, predictions))
    predictions[...] = X @ s.w
    return int(update(s, X, Y - predictions, p))


def append_to_window(s: State, X: Array, Y: Array) -> None:
    """Append rows to the window; the oldest rows leave a full window."""
    n, size = int(s.count[0]), len(s.rows)
    X, Y = X[-size:], Y[-size:]
    keep = min(n, size - len(X))
    for window, new in ((s.rows, X), (s.targets, Y)):
        if keep < n:
            window[:keep] = window[n - keep : n]
        window[keep : keep + len(new)] = new
    s.count[0] = keep + len(X)


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """Take one step for q gradients, by the SVD of the window."""
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


for_network = by_gradients(update)
fleet_learn = make_apa_fleet_learn(learn)
