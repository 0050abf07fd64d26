"""Recursive least squares (thesis, eq. 2.3; least-squares notes, block update; survey, RLS-(beta, lambda)).

P has the normalized form Phi_t beta^-t, which stays finite when beta^t underflows. The rows of a linear model are
learned one after another by `_sequential_rls` or, if there are many features, in blocks by `_block_rls`; the docstrings
there describe cost and memory. A step with q gradients takes 3 q p^2 flops.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from orfit_bench.kernels.guards import forgetting_limits
from orfit_bench.kernels.loops import make_step
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numba._arrays import Array, BoundRow, BoundRows
from orfit_bench_numba._complex_rows import learn_covariance_rows
from orfit_bench_numba._covariance import learn_rows, learn_step
from orfit_bench_numba._covariance_fleets import bind_members, make_covariance_fleet_learn
from orfit_bench_numba._covariance_row import learn_number
from orfit_bench_numba._few_features import MAX_FEATURES, learn_safe_rows
from orfit_bench_numba._information_root import learn_root
from orfit_bench_numba._network_gradients import by_gradients
from orfit_bench_numba._projection import fit_block, fit_rows
from orfit_bench_numpy import rls as reference
from orfit_bench_numpy.rls import start_without_prior

COMPLEX = True
__all__ = [
    "bind_members",
    "bind_row",
    "bind_rows",
    "fleet_learn",
    "for_network",
    "learn",
    "start_without_prior",
    "step",
    "update",
]


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """For each row: P <- (P - P x x'P / (ff + x'P x)) / ff,  w <- w + P_old x e / (ff + x'P_old x)."""
    if len(X) > 1 and Y.shape[1] == 1 and can_learn_few_features(s, p):
        y, predictions = Y.reshape(-1), np.empty(0, X.dtype) if out is None else out.reshape(-1)
        return learn_few_features(learn_safe_rows, s.P, s.w, p.forgetting_factor, s.precision_lost, X, y, predictions)
    return learn_outputs_alike(s, X, Y, p, out)


def learn_outputs_alike(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """Learn rows as `learn`, with operations for each output that do not depend on the other outputs.

    The forgetting factor is the noise r of `_sequential_rls` and `_block_rls`.
    """
    ff = p.forgetting_factor
    if hasattr(s, "root"):
        first = p.ridge == 0 and p.t == 1
        return reference.learn(s, X, Y, p, out) if first or X.dtype.kind == "c" else learn_root(s, X, Y, p, out)
    if X.dtype.kind == "c":
        if ff == 0 or (p.ridge == 0 and p.t == 1):
            return reference.learn(s, X, Y, p, out)
        return learn_covariance_rows(s, X, Y, forgetting_limits(ff, X.dtype), out)
    if ff == 0:
        return fit_rows(s, X, Y, out)
    if len(X) == 1 and Y.shape[1] == 1 and (learn_row := bind_row(s, p)):
        if out is not None:
            np.dot(X, s.w, out)
        return learn_row(X[0], Y[0, 0])
    noise = np.full(len(X), ff, X.dtype)
    return learn_rows(s.P, s.w, X, Y, noise, s.precision_lost, out, forgetting_limits(ff, X.dtype))


def can_learn_few_features(s: State, p: Params) -> bool:
    """Whether a P for real numbers and few features is stored and exists before the first of the rows."""
    keeps_P = p.forgetting_factor > 0 and not hasattr(s, "root") and not (p.ridge == 0 and p.t == 1)
    return keeps_P and s.w.dtype.kind == "f" and len(s.w) <= MAX_FEATURES


def learn_few_features(
    learn_safe: Callable[..., int], P: Array, w: Array, ff: float, degraded: Array, X: Array, y: Array, out: Array
) -> int:
    """Learn rows with one output by `learn_safe`, the function for few features, and the others by `learn_rows`."""
    learned = int(learn_safe(P, w.reshape(-1), ff, X, y, out))
    if learned < 0 or learned == len(X):
        return learned
    left = slice(learned, None)
    noise, predictions = np.full(len(X) - learned, ff, X.dtype), out[left, None] if len(out) else None
    with np.errstate(all="ignore"):  # bound functions are called without it
        limits = forgetting_limits(ff, X.dtype)
        return learned + learn_rows(P, w, X[left], y[left, None], noise, degraded, predictions, limits)


def bind_row(s: State, p: Params) -> BoundRow | None:
    """A function that learns one row of real numbers with one output; None if no P is stored."""
    ff = p.forgetting_factor
    if ff == 0 or s.w.dtype.kind == "c" or hasattr(s, "root"):
        return None
    limits = [float(number) for number in forgetting_limits(ff, s.P.dtype)]
    entry = learn_number.entry_point(s.P.dtype)
    return partial(entry, s.P, s.w.reshape(1, -1), float(ff), *limits, s.precision_lost.reshape(1))


def bind_rows(s: State, p: Params) -> BoundRows | None:
    """A function that learns rows of real numbers with one output; None if no P is stored, and for many features."""
    if not can_learn_few_features(s, p):
        return None
    entry = learn_safe_rows.entry_point(s.P.dtype)
    return partial(learn_few_features, entry, s.P, s.w, float(p.forgetting_factor), s.precision_lost)


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """P <- (P - P J'(ff I + J P J')^-1 J P) / ff,  w <- w + P_old J'(ff I + J P_old J')^-1 E."""
    if J.dtype.kind == "c" or hasattr(s, "root"):
        return reference.update(s, J, E, p)
    ff = p.forgetting_factor
    if ff == 0:
        return fit_block(s, J, E)
    if p.ridge == 0 and p.t == 1:
        return start_without_prior(s, J, E)
    return learn_step(
        s.P, s.w, J, E, ff * np.eye(len(J), dtype=J.dtype), s.precision_lost, forgetting_limits(ff, J.dtype)
    )


step = make_step(update)
for_network = by_gradients(update)
fleet_learn = make_covariance_fleet_learn(learn)
