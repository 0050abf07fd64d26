"""The square-root form of `kalman` for its state and parameters; rows are learned by `_covariance_root`."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.kernels.linalg import root_of_noise
from orfit_bench.spec.kernel_arguments import FilterParams, State
from orfit_bench_numba._arrays import Array, BoundRow
from orfit_bench_numba._covariance_root import learn_root_rows
from orfit_bench_numba._motion import collect_motion, select_rows

MAX_OWN_ROOTS = 100
"""Largest size of a moving state for which reflections of its root by own code are faster than LAPACK's."""


def can_learn_roots(s: State, p: FilterParams) -> bool:
    """Whether the state keeps a root that own code can move at least as fast as LAPACK."""
    return hasattr(s, "root") and (len(s.root) <= MAX_OWN_ROOTS or not p.is_dynamic.any())


def learn_roots(s: State, X: Array, Y: Array, noise: Array, p: FilterParams, begin: int, out: Array | None) -> int:
    """Learn rows with these noises, starting at row `begin` of this chunk."""
    W = np.ascontiguousarray(s.mean.T)
    motion = collect_roots(p, slice(begin, begin + len(X)), W)
    predictions = np.empty((0, Y.shape[1]), X.dtype) if out is None else out
    given = X, Y, noise, motion, p.t - 1 + begin, s.scale, s.precision_lost.reshape(1), predictions
    learned = int(learn_root_rows(s.root, W, *given))
    s.mean[...] = W.T
    moves = select_rows(p.is_dynamic, slice(begin, begin + learned)).any() and p.t + begin + learned > 2
    if moves or not np.isnan(Y[:learned]).any(axis=1).all():  # a row that changed nothing keeps the given covariance
        s.covariance[...] = s.root @ s.root.T
    return learned


def bind_root(s: State, p: FilterParams) -> BoundRow:
    """A function that learns a row with one output and noise, not the very first."""
    S, W, entry = s.root, s.mean.reshape(1, -1), learn_root_rows.entry_point(s.root.dtype)
    motion, target, moves = collect_roots(p, slice(0, 1), W), np.empty((1, 1), S.dtype), p.is_dynamic.any()
    rest = p.observation_noise.reshape(-1), motion, 1, s.scale, s.precision_lost.reshape(1), np.empty((0, 1), S.dtype)

    def learn_row(x: Array, y: float) -> int:
        target[0, 0] = y
        if y != y and not np.isfinite(x).all():  # x is in no sum if y is missing
            return 0
        learned = int(entry(S, W, x[None], target, *rest))
        if learned and (moves or y == y):
            with np.errstate(all="ignore"):  # a bound function is called without
                np.matmul(S, S.T, out=s.covariance)
        return learned

    return learn_row


def collect_roots(p: FilterParams, part: slice, W: Array) -> tuple[Any, ...]:
    """The motion of some rows, with roots in place of the process noises."""
    f, F, q, Q, moves, control = collect_motion(p, part, W)
    roots = np.array([root_of_noise(of) for of in Q]) if Q.size else Q
    return f, F, np.sqrt(q), roots, moves, control
