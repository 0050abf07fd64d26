"""Normalised LMS (survey, the program LMS; Krasulina paper, after eq. 13)."""

import numpy as np

from orfit_bench.kernels.guards import normal_range
from orfit_bench.kernels.regularized_inverse import are_rows_uneven
from orfit_bench.spec.kernel_arguments import FleetParams, Params, State
from orfit_bench_numba import _complex_rows, _gradient, _gradient_fleets
from orfit_bench_numba._arrays import Array, BoundRow, BoundRows
from orfit_bench_numba._gradient import learn_by_gradient
from orfit_bench_numba._gradient_blocks import step_pseudo_inverse, step_row
from orfit_bench_numba._network_gradients import by_gradients
from orfit_bench_numpy import nlms as reference

CHECKS_ROWS = True
COMPLEX = True


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """w <- w + step e x / (eps + x'x)."""
    if X.dtype.kind == "c":
        return _complex_rows.learn_by_gradient(s, X, Y, p.step_size, p.eps, out)
    return learn_by_gradient(s, X, Y, p.step_size, p.eps, out)


def bind_row(s: State, p: Params) -> BoundRow | None:
    """A function that learns one row of real numbers with one output."""
    if s.w.dtype.kind == "c":
        return None
    return _gradient.bind_row(s, p.step_size, p.eps)


def bind_rows(s: State, p: Params) -> BoundRows | None:
    """A function that learns rows of real numbers with one output."""
    if s.w.dtype.kind == "c":
        return None
    return _gradient.bind_rows(s, p.step_size, p.eps)


def bind_members(s: State, p: FleetParams) -> BoundRows | None:
    """A function that learns a row of each member of a fleet, with one output."""
    return _gradient_fleets.bind_members(s, p, normalized=True)


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """w <- w + step J'(J J' + eps I)^+ E."""
    if len(J) == 1:
        return bool(step_row(s.w, J, E, p.step_size[0], p.eps, normal_range(J.dtype)[0]))
    if are_rows_uneven(np.abs(J).max(axis=1)):
        return reference.update(s, J, E, p)
    return bool(step_pseudo_inverse(s.w, J, E, p.step_size[0], p.eps, np.finfo(J.dtype).eps ** 0.5))


for_network = by_gradients(update)
fleet_learn = _gradient_fleets.make_gradient_fleet_learn(normalized=True)
