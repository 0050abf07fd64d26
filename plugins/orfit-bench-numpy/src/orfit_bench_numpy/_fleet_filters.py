"""Fleets of Kalman filters in NumPy: one row of every member at once, by the formulas of `kalman`.

Letters are those of `kalman`; theta is its mean after the transition. Shapes for m members: x (m, d) rows, y (m, r)
targets, theta (m, d, r), P (m, d, d), F and Q (m, d, d), R (m,).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from orfit_bench.kernels.filtering import moved_scale
from orfit_bench.kernels.fleets import make_batched_rounds, measure_innovations
from orfit_bench.kernels.guards import TRANSITION_LIMITS
from orfit_bench.kernels.loops import Array
from orfit_bench.spec.kernel_arguments import FleetParams, State


class Motion(NamedTuple):
    """The motion of m members before a row; if a member does not move, F is the identity and Q is zero."""

    F: Array
    Q: Array
    has_transition: Array
    """Whether the settings have a transition (m,), which can enlarge errors; also set before the first row."""
    regained: Array
    """The covariance (m, d, d) that the process noise of the settings adds before the next step."""
    moves: Array
    """Whether the state moves before this row (m,)."""


def fleet_has_formulas(s: State, p: FleetParams) -> bool:
    """Whether every member stores its covariance instead of a root, and every row has noise."""
    return len(p.members) > 0 and not hasattr(s, "root") and bool((p.dynamics.observation_noise > 0).all())


def motion_of(model: Any, j: Array, t: Array, like: Array) -> Motion:
    """The motion of members j before their steps t (m,), with matrices in the shape of `like` (m, d, d)."""
    dynamic = entries(model.is_dynamic, j)
    by_transition, by_noise, moves = dynamic[:, 0], dynamic[:, 1], dynamic.any(axis=1) & (t > 1)
    F, Q = (matrices(given, j, like) for given in (model.transition, model.process_noise))
    regained, later = np.where(by_noise[:, None, None], Q, 0), t > 1  # no motion before the first row
    F = np.where((later & by_transition)[:, None, None], F, np.eye(like.shape[1], dtype=like.dtype))
    return Motion(F, np.where(later[:, None, None], regained, 0), by_transition, regained, moves)


def entries(given: Array, j: Array) -> Array:
    """The entries of members j, from an array with one entry per member or one entry for all."""
    return given[j] if len(given) > 1 else np.repeat(given, len(j), axis=0)


def matrices(given: Array | None, j: Array, like: Array) -> Array:
    """The entries of members j as matrices (m, d, d), from numbers, diagonals or matrices; None means zero."""
    if given is None:
        return np.zeros((len(j), *like.shape[1:]), like.dtype)
    own = entries(given, j)
    return own if own.ndim == 3 else own.reshape(len(j), 1, -1) * np.eye(like.shape[1], dtype=like.dtype)


def step_filters(s: State, x: Array, y: Array, p: FleetParams, j: Array, row: Array, out: Array | None) -> Array:
    """Learn one row of each of m members: predict, from the second step on, and correct unless y is missing (NaN).

    A member whose result is not finite or accurate does not change. `j` (m,) are the places of the members in
    p.members, `row` (m,) the indices of their rows in the call.
    """
    model = p.dynamics
    motion = motion_of(model, j, p.t[j] + (row - p.starts[j]), s.covariance)
    F, Q = motion.F, motion.Q
    theta, P = F @ s.mean, F @ s.covariance @ F.mT  # (KF, arrow down)
    P = P / 2 + P.mT / 2 + Q
    f = (x[:, None] @ theta)[:, 0]
    if out is not None:
        out[row] = f
    R = entries(model.observation_noise, j).astype(x.dtype)
    left = R + ((x[:, None] @ motion.regained)[:, 0] * x).sum(axis=1)
    max_rounding = np.where(motion.has_transition, TRANSITION_LIMITS.max_rounding, 1)
    max_cancellation = np.where(motion.has_transition, TRANSITION_LIMITS.max_cancellation, 1)
    variances = moved_scale(s.covariance, F, P)
    V, deviation, accepted, degraded = measure_innovations(P, x, R, left, variances, max_rounding, max_cancellation)
    seen: Any = ~np.isnan(y).any(axis=1)
    e = np.where(seen[:, None], y - f, 0) / deviation[:, None]
    V = np.where(seen[:, None], V, 0)
    mean = theta + V[:, :, None] * e[:, None, :]  # theta + K e
    finite = np.isfinite(mean).all(axis=(1, 2)) & np.isfinite(P).all(axis=(1, 2))
    applied: Array = finite & (accepted | ~seen)
    covariance = P - V[:, :, None] * V[:, None, :]  # P - K x'P
    np.copyto(s.mean, mean, where=applied[:, None, None])
    np.copyto(s.covariance, covariance, where=applied[:, None, None])
    np.copyto(s.scale, variances, where=(applied & motion.moves)[:, None])
    s.precision_lost[applied & degraded & seen] = 1
    return applied


learn_filters = make_batched_rounds(step_filters)
