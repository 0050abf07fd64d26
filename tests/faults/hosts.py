"""Rules that the host alone keeps, so that no plugin can break them: the host with one guard taken out."""

from __future__ import annotations

from typing import Any

import numpy as np

from faults.fault import fault
from faults.reference_learner import (
    BATCHES,
    LINEAR_LMS,
    OJA,
    reference_kernel,
    reference_with,
)
from orfit_bench.learners import validation
from orfit_bench.learners.rule import Rule
from orfit_bench.spec import types

convert, matrix, learn = validation._convert, validation.matrix, Rule.learn


def _learned_twice(self: Any, state: Any) -> None:
    X, Y = state.pending.concatenate(self.namespace)
    for _ in range(2):
        self.advance(state, X, Y, len(X), None, block=True)
    state.pending = state.pending.without_rows()


fault(
    "waiting_rows_are_learned_twice",
    "a flush learns the rows that wait twice",
    "incomplete_batch_is_pending",
    method=BATCHES,
    host=(Rule, "flush", _learned_twice),
)


def _as_it_lies(value: Any, name: str, dtype: Any, *more: Any) -> Any:
    array = convert(value, name, dtype, *more)
    return array if np.asarray(value).flags.c_contiguous else np.asarray(value).ravel("K").reshape(array.shape)


fault(
    "numbers_as_they_lie",
    "an array that is not in C order is read in the order of its memory",
    "any_memory_layout",
    host=(validation, "_convert", _as_it_lies),
)
fault(
    "one_row_without_brackets",
    "a vector is taken for one row",
    "invalid_shapes_are_refused",
    method=OJA,
    kernel=reference_kernel("oja"),
    host=(validation, "matrix", lambda X, *more, **named: matrix(np.atleast_2d(X), *more, **named)),
)


def _cut_off(X: Any, name: str, dtype: Any, columns: int | None, *more: Any, **named: Any) -> Any:
    cut = X[:, :columns] if type(X) is np.ndarray and X.ndim == 2 else X
    return matrix(cut, name, dtype, columns, *more, **named)


fault(
    "columns_too_many_are_cut_off",
    "columns beyond those of the first chunk are ignored",
    "changed_sizes_are_refused",
    method=OJA,
    kernel=reference_kernel("oja"),
    host=(validation, "matrix", _cut_off),
)
fault(
    "nothing_looks_for_nan",
    "rows that are not finite come to the kernel",
    "nonfinite_input_is_refused",
    host=(validation, "check_finite", lambda value, name: None),
)
fault(
    "masks_are_dropped",
    "a masked array is learned with what its mask hides",
    "non_numeric_input_is_refused",
    host=(validation, "_convert", lambda value, name, dtype, *more: convert(np.asarray(value), name, dtype, *more)),
)


fault(
    "any_number_is_in_range",
    "whatever the range of a setting, a number is in it",
    "invalid_settings_are_refused",
    method=LINEAR_LMS,
    kernel=reference_with("lms"),
    host=(types.Number, "__contains__", lambda interval, value: True),
)


def _rounded_for_nothing(self: Any, state: Any, X: Any, *more: Any, **options: Any) -> Any:
    predictions = learn(self, state, X, *more, **options)
    if not len(X):
        state.arrays.w[...] = np.nextafter(state.arrays.w, 0)
    return predictions


fault(
    "no_rows_round",
    "learning no rows moves the weights by a rounding",
    "empty_chunk_changes_nothing",
    host=(Rule, "learn", _rounded_for_nothing),
)
