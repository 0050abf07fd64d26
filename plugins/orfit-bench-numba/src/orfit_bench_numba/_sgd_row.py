"""Steps of sgd for calls with one row: those of `_sgd_steps`, bound to the arrays of a state."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numba._arrays import Array, BoundRow, Scalar
from orfit_bench_numba._compile import compiled
from orfit_bench_numba._losses import CROSS_ENTROPY, HINGE, LOGISTIC, loss_of
from orfit_bench_numba._sgd_steps import fields_of, learn_rows


def bind_row(s: State, p: Params) -> BoundRow | None:
    """A function that learns one row with one output, see `Kernel.bind_row`.

    None if the step depends on its number (the average of a tail), and for losses of several outputs.
    """
    kind, parameter = loss_of(p)
    if p.averaging == "tail" or kind == CROSS_ENTROPY:
        return None
    counts = p.weights if p.averaging == "weighted" else np.ones(1, s.w.dtype)
    schedule, numbers = (p.step_size, p.momentum, counts), (parameter, float(p.ridge), float(p.radius))
    return partial(learn_row.entry_point(s.w.dtype), *fields_of(s), *schedule, kind, *numbers)


@compiled("w w w w r r r i f f f r f")
def learn_row(
    w: Array,
    previous: Array,
    average: Array,
    total: Array,
    step: Array,
    beta: Array,
    counts: Array,
    kind: int,
    parameter: Scalar,
    ridge: Scalar,
    radius: Scalar,
    x: Array,
    y: Scalar,
) -> Any:
    """Learn one row, but not the first; returns 1, or 0 if the step is refused and nothing has changed.

    Schedules contain only the entry for this step.
    """
    if (kind in (HINGE, LOGISTIC)) and y * y != 1:
        return 0
    Y, S, ahead = np.empty((1, 1), w.dtype), np.empty((1, 1), w.dtype), np.empty_like(w)
    Y[0, 0] = y
    fields, numbers = (w, previous, average, total), (kind, parameter, ridge, radius)
    return learn_rows(0, 1, x.reshape((1, len(x))), Y, *fields, step, beta, counts, *numbers, True, S, ahead, Y[:0])
