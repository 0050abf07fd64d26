"""LMS (survey, eq. 2)."""

from typing import Any

import numpy as np

from orfit_bench.spec.kernel_arguments import FleetParams, Params, State
from orfit_bench_numba import _complex_rows, _gradient, _gradient_fleets
from orfit_bench_numba._arrays import Array, BoundRow, BoundRows
from orfit_bench_numba._gradient import learn_by_gradient
from orfit_bench_numba._gradient_blocks import step_gradient
from orfit_bench_numba._losses import SQUARE
from orfit_bench_numba._network_descent import Descent, NumberDescent

CHECKS_ROWS = True
COMPLEX = True


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """w <- w + step e x."""
    if X.dtype.kind == "c":
        return _complex_rows.learn_by_gradient(s, X, Y, p.step_size, None, out)
    return learn_by_gradient(s, X, Y, p.step_size, None, out)


def bind_row(s: State, p: Params) -> BoundRow | None:
    """A function that learns one row of real numbers with one output."""
    if s.w.dtype.kind == "c":
        return None
    return _gradient.bind_row(s, p.step_size, None)


def bind_rows(s: State, p: Params) -> BoundRows | None:
    """A function that learns rows of real numbers with one output."""
    if s.w.dtype.kind == "c":
        return None
    return _gradient.bind_rows(s, p.step_size, None)


def bind_members(s: State, p: FleetParams) -> BoundRows | None:
    """A function that learns a row of each member of a fleet, with one output."""
    return _gradient_fleets.bind_members(s, p, normalized=False)


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """w <- w + step J'E."""
    return bool(step_gradient(s.w, J, E, p.step_size[0]))


def for_network(network: Any, d: int, c: int, settings: Any) -> NumberDescent:
    """The rule for rows of a network: one step of sgd for each."""
    return NumberDescent(network, d, c, _describe)


def _describe(s: State, p: Params, begun: bool) -> Descent:
    none, zeros = s.w[:0, 0], np.zeros_like(p.step_size)
    return Descent((s.w[:, 0], none, none, none), (p.step_size, zeros, zeros), (SQUARE, 0.0), (0.0, np.inf), none)


fleet_learn = _gradient_fleets.make_gradient_fleet_learn(normalized=False)
