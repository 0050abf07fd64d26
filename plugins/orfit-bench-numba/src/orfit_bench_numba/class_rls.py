"""RLS on one-hot targets (survey, D-RLS): w has one column for each class, and all classes share one P.

Each column of w is computed separately, by operations that do not depend on the other columns: a class that appears
late gets the same column as if it were known from the start. `_sequential_rls` and `_block_rls` guarantee this;
everything else is as in rls.
"""

from functools import partial

import numpy as np

from orfit_bench.kernels.guards import forgetting_limits
from orfit_bench.kernels.threads import limit_blas_threads
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numba._arrays import Array, BoundLabel
from orfit_bench_numba._covariance import apply_change, compute_change
from orfit_bench_numba._covariance_fleets import make_covariance_fleet_learn
from orfit_bench_numba._covariance_row import learn_label
from orfit_bench_numba.rls import learn_outputs_alike

__all__ = ["bind_label", "fleet_learn", "learn", "step"]


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """For each row: P <- (P - P x x'P / (ff + x'P x)) / ff,  w <- w + P_old x (y - x'w) / (ff + x'P_old x)."""
    if len(X) != 1:
        return learn_outputs_alike(s, X, Y, p, out)
    if out is not None:
        np.dot(X, s.w, out)
    label = int(Y[0].argmax())
    return bind_label(s, p, float(Y[0, label]))(X[0], label)  # the root of the weight of the row


def bind_label(s: State, p: Params, y: float = 1.0) -> BoundLabel:
    """A function that learns one row of a known class, with target y for it."""
    ff, dtype = p.forgetting_factor, s.P.dtype
    limits = [float(number) for number in forgetting_limits(ff, dtype)]
    entry = learn_label.entry_point(dtype)
    return partial(entry, s.P, s.w, float(ff), *limits, s.precision_lost.reshape(1), y)


def step(s: State, A: Array, Y: Array, p: Params) -> bool:
    """Learn all rows of A in one step: K = P A'(ff I + A P A')^-1,  w <- w + K E,  P <- (P - K A P) / ff."""
    limits = forgetting_limits(p.forgetting_factor, A.dtype)
    with limit_blas_threads(3.0 * len(A) * s.P.size):
        change = compute_change(s.P, np.diagonal(s.P), A, limits.ff * np.eye(len(A), dtype=A.dtype), limits)
        if change is None:
            return False
        errors = [y - A @ w for y, w in zip(Y.T, np.ascontiguousarray(s.w.T), strict=True)]
        move = np.hstack([change.move(e[:, None]) for e in errors])
        return apply_change(s.P, s.w, change, move, s.precision_lost, limits)


fleet_learn = make_covariance_fleet_learn(learn)
