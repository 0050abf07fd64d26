"""The weights of a pipeline along a stream, for rows as they come."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.errors import DivergedError
from orfit_bench.learners import weight_history
from orfit_bench.learners.learner import Learner
from orfit_bench.learners.pipelines.coordinates import Coordinates
from orfit_bench.learners.pipelines.learning import part_of
from orfit_bench.tables.names import NamedValues

if TYPE_CHECKING:
    import xarray

    from orfit_bench.learners.pipelines.pipeline import Pipeline

Array = np.ndarray[Any, Any]


def record(pipeline: Pipeline, X: NamedValues, y: Any, every: Any) -> xarray.DataArray:
    """Learn rows, and return the weights after each `every` of them, the intercept's behind those of the columns."""
    every = weight_history.validate(pipeline.learner.method, every)
    n = len(X.values)
    history: list[Array] = []
    for start in range(0, n, every):
        try:
            pipeline.partial_fit(
                NamedValues(X.values[start : start + every], X.names), part_of(y, start, start + every)
            )
        except DivergedError as error:
            raise pipeline.learner.rule.divergence(error.step, start + error.row) from None
        w = pipeline.weights()
        if not history and n // every * w.nbytes > weight_history.MAX_BYTES:
            least = math.ceil(n * w.nbytes / weight_history.MAX_BYTES)
            raise ValueError(f"every={every}: the history would exceed 1 GiB; pass every={least} or more")
        if start + every <= n:
            history.append(w)
    return _labelled(np.array(history), pipeline, pipeline.n_samples_seen_ - n + every, every)


def as_they_come(learner: Learner, current: Coordinates) -> Array:
    """The weights (d + 1, c) of rows [x, 1] that are not standardized, in host memory."""
    state = learner.live_state
    assert state is not None  # known after the first chunk
    w = learner.backend.asnumpy(learner.rule.prediction_weights(state))
    zero = np.zeros_like(current.center)
    raw = Coordinates(zero, np.ones(len(zero)), current.varied)
    return current.to(raw).solve(np.asarray(w, np.result_type(w, float)))


def _labelled(history: Array, pipeline: Pipeline, first: int, every: int) -> xarray.DataArray:
    import xarray

    state = pipeline.learner.live_state
    coordinates: dict[str, Any] = {"row": first + every * np.arange(len(history))}
    if pipeline.feature_names:
        coordinates["parameter"] = [*pipeline.feature_names, "intercept"]
    if state is None or not history.size:
        history = np.empty((0, pipeline.n_features_in_ + 1, state.sizes.n_outputs if state else 1))
    if state is None or state.sizes.y_is_1d:
        return xarray.DataArray(history[:, :, 0], coordinates, ("row", "parameter"))
    if state.target_names:
        coordinates["output"] = list(state.target_names)
    return xarray.DataArray(history, coordinates, ("row", "parameter", "output"))
