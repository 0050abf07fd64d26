"""Fleets of sgd: one step of all members at once, each with its own settings.

Shapes: x (m, d) rows and y (m, r) targets of m members, s.w, v, g (m, d, r). p.NAME contains one value per row of the
call if the setting can be a schedule, otherwise one value per member. `j` (m,) are the places of the members in
p.members, `row` (m,) the indices of their rows in the call.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.kernels.fleets import FleetLearn, make_batched_rounds
from orfit_bench.kernels.loops import Array
from orfit_bench.spec.kernel_arguments import FleetParams, State


def make_sgd_fleet_learn(slopes: Callable[[str, Array, Array, Any], Array]) -> FleetLearn:
    """Make `fleet_learn` of sgd from slopes(loss, E, Y, p), which returns l'(y, f) for errors and targets (m, r)."""

    def step(s: State, x: Array, y: Array, p: FleetParams, j: Array, row: Array, out: Array | None) -> Array:
        """w <- Proj(v - step (x l'(y, x'v) + ridge v)) for each member that stays finite; returns which."""
        if out is not None:
            out[row] = products(x, prediction_weights(s))
        v = look_ahead(s, p, j, row)
        e = y - products(x, v)
        slope = slopes(str(p.loss[0]), e, y, loss_parameters(p, j, x.dtype))
        step = column(p.step_size[row], x)
        change = x[:, :, None] * (step * slope[:, None, :]) + step * column(p.ridge[j], x) * v
        w = v - change  # "SGD convergence": w_(t+1) = Proj(v_t - gamma_t g_t)
        applied: Array = np.isfinite(w).all(axis=(1, 2)) & np.isfinite(e).all(axis=1)
        if hasattr(s, "average"):
            applied &= update_averages(s, average_weights(p, j, row), applied)
        project_to_balls(w, p.radius[j])
        if hasattr(s, "previous"):
            s.previous[applied] = s.w[applied]
        s.w[applied] = w[applied]
        return applied

    return make_batched_rounds(step)


def times(p: FleetParams, j: Array, row: Array) -> Array:
    """The number t of the step (m,) in which these members learn these rows."""
    found: Array = p.t[j] + row - p.starts[j]
    return found


def look_ahead(s: State, p: FleetParams, j: Array, row: Array) -> Array:
    """The points v_t at which Nesterov's method evaluates the gradient; v_1 = w_1."""
    w: Array = s.w
    if not hasattr(s, "previous"):
        return w
    beta = np.where(times(p, j, row) == 1, 0, p.momentum[row])
    v: Array = w + column(beta, w) * (w - s.previous)  # "momentum": v_t = w_t + beta_t (w_t - w_(t-1))
    return v


def project_to_balls(w: Array, radius: Array) -> None:
    """Replace w of each member by the nearest point in the ball with its radius (Frobenius norm)."""
    i = np.flatnonzero(radius < math.inf)
    if not len(i):
        return
    size = np.abs(w[i]).max(axis=(1, 2), keepdims=True)
    unit = w[i] / np.where(size > 0, size, 1)  # no square over- or underflows
    length = np.sqrt((unit * unit).sum(axis=(1, 2), keepdims=True))
    inside = column(radius[i], w) / np.where(length > 0, length, 1)
    w[i] = np.where(size > inside, unit * inside, w[i])


def column(values: Array, x: Array) -> Array:
    """Values of the members (m,), in a shape (m, 1, 1) that multiplies their weights (m, d, r)."""
    return values.astype(x.dtype)[:, None, None]


def products(x: Array, w: Array) -> Array:
    """The predictions x'w (m, r) of all members."""
    found: Array = (x[:, None] @ w)[:, 0]
    return found


def prediction_weights(s: State) -> Array:
    """The averages of members that have one, the weights of the others."""
    w: Array = s.w
    return np.where((s.average_weight > 0)[:, None, None], s.average, w) if hasattr(s, "average") else w


class LossParameters(NamedTuple):
    """The parameters of the losses, for errors (m, r)."""

    batch_size: int
    delta: Array
    epsilon: Array
    tau: Array


def loss_parameters(p: FleetParams, j: Array, dtype: Any) -> LossParameters:
    """The parameters of the losses for these members."""
    delta, epsilon, tau = (values[j, None].astype(dtype) for values in (p.delta, p.epsilon, p.tau))
    return LossParameters(len(j), delta, epsilon, tau)


def average_weights(p: FleetParams, j: Array, row: Array) -> Array:
    """The weight a_t (m,) of each member's w_t in its average."""
    if p.averaging[0] == "weighted":
        return np.asarray(p.weights[row], float)
    return np.where(p.averaging[0] == "uniform", 1.0, times(p, j, row) >= p.tail_start[j])


def update_averages(s: State, a: Array, applied: Array) -> Array:
    """Add w_t to the means of the applied members (slides, "averaging"); return whether sums of weights stay finite."""
    total = s.average_weight + a.astype(s.w.dtype)
    finite: Array = np.isfinite(total)
    i = np.flatnonzero(applied & finite & (a > 0))
    share = (a[i].astype(s.w.dtype) / total[i])[:, None, None]
    s.average[i] = (1 - share) * s.average[i] + share * s.w[i]
    s.average_weight[i] = total[i]
    return finite
