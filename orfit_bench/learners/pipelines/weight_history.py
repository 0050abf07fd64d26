"""The weights of a pipeline along a stream, for rows before the transforms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.errors import DivergedError
from orfit_bench.learners import weight_history
from orfit_bench.learners.learner import Learner
from orfit_bench.learners.pipelines.coordinates import Coordinates
from orfit_bench.learners.pipelines.parts import has_length
from orfit_bench.tables.names import NamedValues
from orfit_bench.tables.row_selection import take_rows

if TYPE_CHECKING:
    import xarray

    from orfit_bench.learners.pipelines.pipeline import Pipeline

Array = np.ndarray[Any, Any]


def record(pipeline: Pipeline, X: NamedValues, y: Any, every: Any) -> xarray.DataArray:
    """Learn rows, and return the weights after each `every` of them, that of the intercept last."""
    every = weight_history.validate(pipeline.learner.method, every)
    n, history = len(X.values), list[Array]()
    if not has_length(y, n):
        pipeline.copy().partial_fit(X, y)  # its error names the number of targets
    for start in range(0, max(n, 1), every):
        part = slice(start, start + every)
        try:
            pipeline.partial_fit(NamedValues(X.values[part], X.names), take_rows(y, part))
        except DivergedError as error:
            raise pipeline.learner.rule.divergence(error.step, start + error.row) from None
        except (TypeError, ValueError):
            pipeline.copy().partial_fit(X, y)  # its error has the row numbers of this call
            raise
        w = pipeline.weights()
        if not start:
            weight_history.check_size(n, every, w.size, w.dtype)
        if part.stop <= n:
            history.append(w)
    state = pipeline.learner.live_state
    assert state is not None  # known after the first chunk
    names = (*pipeline.feature_names, "intercept") if pipeline.feature_names else ()
    first = pipeline.n_samples_seen_ - n + every
    return weight_history.labelled(np.reshape(history, (len(history), *w.shape)), state, first, every, names)


def as_they_come(learner: Learner, current: Coordinates) -> Array:
    """The weights (d + 1, c) of rows [x, 1] that are not standardized, in host memory."""
    state = learner.live_state
    assert state is not None  # known after the first chunk
    w = learner.backend.asnumpy(learner.rule.prediction_weights(state))
    zero = np.zeros_like(current.center)
    raw = Coordinates(zero, np.ones(len(zero)), current.varied)
    return current.to(raw).solve(np.asarray(w, np.result_type(w, float)))
