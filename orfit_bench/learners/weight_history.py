"""The weights along a stream: rows are learned in parts, and the weights after each are kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from orfit_bench.counts import positive_integer
from orfit_bench.errors import DivergedError
from orfit_bench.learners import sparse
from orfit_bench.learners.rule import Rule
from orfit_bench.learners.targets import EncodedRows
from orfit_bench.spec import Method
from orfit_bench.state.state import LearnerState

if TYPE_CHECKING:
    import xarray

MAX_BYTES = 2**30
"""Size of the largest history in bytes; a larger one is probably a mistake."""


def validate(method: Method, every: SupportsIndex) -> int:
    """The number of rows between two entries; TypeError or ValueError if there can be no history."""
    if method.state.predict:
        raise TypeError(f"{method.name} has no weights, so there is no history of them")
    return positive_integer("every", every)


def learn(state: LearnerState, rule: Rule, rows: EncodedRows, every: int) -> np.ndarray[Any, Any]:
    """Learn rows; the weights (n // every, p, c) after each `every` of them, in host memory."""
    shape, n = rule.layout(rows.sizes).shape(("parameter", "output")), rows.X.shape[0]
    learn_part = partial(sparse.learn, rule) if sparse.is_sparse(rows.X) else rule.learn
    check_size(n, every, math.prod(shape), rule.dtype)
    history = np.empty((n // every, *shape), rule.dtype)
    for i in range(0, n, every):
        waited = state.pending.count
        try:
            learn_part(state, rows.X[i : i + every], rows.Y[i : i + every])
        except DivergedError as error:
            raise rule.divergence(error.step, i + error.row if error.row else max(0, i - waited)) from None
        if i + every <= n:
            history[i // every] = rule.backend.asnumpy(rule.prediction_weights(state))
    return history


def check_size(n: int, every: int, weights: int, dtype: np.dtype[Any]) -> None:
    """Raise ValueError if the history of n rows, with this number of weights each, would be too large."""
    size = n * weights * dtype.itemsize
    if n >= every and size // every > MAX_BYTES:
        least = math.ceil(size / MAX_BYTES)
        raise ValueError(
            f"every={every}: the history of {n} rows with {weights} weights each would exceed {MAX_BYTES >> 30} GiB; "
            f"pass every={least} or more, or fewer rows per call"
        )


def labelled(
    history: np.ndarray[Any, Any], state: LearnerState, first: int, every: int, parameters: Sequence[str]
) -> xarray.DataArray:
    """The history with named dimensions, beginning at row `first`; without outputs if targets are (n,)."""
    import xarray

    coordinates: dict[str, Any] = {"row": first + every * np.arange(len(history))}
    if parameters:
        coordinates["parameter"] = list(parameters)
    if state.sizes.y_is_1d:
        return xarray.DataArray(history[:, :, 0], coordinates, ("row", "parameter"))
    if len(state.target_names) == history.shape[2]:  # a model has one column of weights
        coordinates["output"] = list(state.target_names)
    return xarray.DataArray(history, coordinates, ("row", "parameter", "output"))
