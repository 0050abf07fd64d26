"""One-step SGD: ORFit with an empty memory (thesis, section 5.1)."""

import numpy as np

from orfit_bench.kernels.guards import normal_range
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numba import _gradient
from orfit_bench_numba._arrays import Array, BoundRow, BoundRows
from orfit_bench_numba._gradient import learn_by_gradient
from orfit_bench_numba._gradient_blocks import step_pseudo_inverse, step_row
from orfit_bench_numba._network_gradients import by_gradients

CHECKS_ROWS = True


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """w <- w + e x / (x'x), which fits the row in one step; a row of zeros changes nothing."""
    return learn_by_gradient(s, X, Y, np.ones(len(X), X.dtype), 0.0, out)


def bind_row(s: State, p: Params) -> BoundRow | None:
    """A function that learns one row with one output."""
    return _gradient.bind_row(s, np.ones(1, s.w.dtype), 0.0)


def bind_rows(s: State, p: Params) -> BoundRows | None:
    """A function that learns rows with one output."""
    return _gradient.bind_rows(s, np.ones(1, s.w.dtype), 0.0)


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """w <- w + J^+ E."""
    if len(J) == 1:
        return bool(step_row(s.w, J, E, 1.0, 0.0, normal_range(J.dtype)[0]))
    return bool(step_pseudo_inverse(s.w, J, E, 1.0, 0.0, np.finfo(J.dtype).eps * max(J.shape)))


for_network = by_gradients(update)
