"""One step of a filter for a backend's `predict_step` and `update`, with missing rows and rollback.

Shapes: A (q, d) rows of one time step, Y (q, r) with NaN where a row is missing, R (q, q).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.kernels.guards import NO_LIMITS, TRANSITION_LIMITS, Limits
from orfit_bench.spec.kernel_arguments import FilterParams, State

Array = NDArray[Any]
PredictStep = Callable[[Any, Array, Any], bool]
"""predict_step(s, mean, p): the transition of the covariance, with the mean after it; False if it overflows."""
Update = Callable[[Any, Array, Array, Any], bool]
"""update(s, J, E, p): correction by rows J with errors E; False if it is not applied."""


def filter_step(
    s: State, A: Array, Y: Array, p: FilterParams, out: Array | None, predict_step: PredictStep, update: Update
) -> bool:
    """Predict (except in the first step) and correct by the rows that are not missing; False restores the state.

    The predictions of all rows are written to `out` unless it is None.
    """
    moves = (p.is_dynamic or p.control is not None) and p.t > 1
    before = [a.copy() for a in s] if moves else []
    if moves and not predict_step(s, moved_mean(s.mean, p), p):
        return False
    if moves and p.control is not None and p.control.any():
        s.moved[...] = 1
    f = A @ s.mean
    if out is not None:
        out[...] = f
    observed = ~np.isnan(Y).any(axis=1)
    R = p.observation_noise[observed][:, observed]
    if not observed.any() or update(s, A[observed], Y[observed] - f[observed], p._replace(observation_noise=R)):
        return True
    for a, saved in zip(s, before, strict=False):
        a[...] = saved
    return False


def moved_mean(mean: Array, p: FilterParams) -> Any:
    """The mean A theta + u after the transition and the control of a step; `p.transition` is a matrix or None."""
    if p.transition is not None:
        mean = p.transition @ mean
    return mean if p.control is None else mean + p.control


def moved_scale(P: Array, F: Array | None, predicted: Array) -> Array:
    """The variances (d,) to which rounding in the predicted covariance is relative: its own, or those of its terms.

    A sum over k of F_ik P_kl has terms of the variance F_ik^2 P_kk, most of which may cancel. Matrices (m, d, d) of
    several filters give variances (m, d).
    """
    before, after = (np.diagonal(a, axis1=-2, axis2=-1) for a in (P, predicted))
    return after if F is None else np.maximum(after, ((F * F) @ before[..., None])[..., 0])


def compared_variances(s: State, p: FilterParams) -> Array:
    """The variances (d,) to which rounding along a row is relative: those of the move, if the state has just moved."""
    variances: Array = s.scale if p.is_dynamic and p.t > 1 else np.diagonal(s.covariance)
    return variances


def regained_covariance(J: Array, p: FilterParams) -> Array | None:
    """The covariance J Q J' (q, q) that the process noise adds along the rows before the next step."""
    return None if p.process_noise is None else J @ p.process_noise @ J.T


def limits_of(p: FilterParams) -> Limits:
    """The limits at which a step is refused; steps with a transition matrix have their own."""
    return NO_LIMITS if p.transition is None else TRANSITION_LIMITS
