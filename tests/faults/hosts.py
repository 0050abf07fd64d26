"""Faults in code that is common to all learners, which no plugin can cause: one guard is removed."""

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
from orfit_bench.learners import configuration, parameters, validation
from orfit_bench.learners import learner as learners
from orfit_bench.learners.rule import Rule
from orfit_bench.spec import types

convert, matrix, learn = validation.convert, validation.matrix, Rule.learn


def _of_16_bits(value: Any, name: str, dtype: Any, *more: Any) -> Any:
    array = np.asarray(value)
    return convert(array.astype("int16") if array.dtype.kind == "i" else value, name, dtype, *more)


fault(
    "integers_have_16_bits",
    "integers are learned modulo 2^16",
    "any_type_of_numbers",
    "any_type_of_numbers_in_one_row",
    "non_numeric_input_is_refused",
    "single_rows_are_refused_like_rows",
    host=(validation, "convert", _of_16_bits),
)


def _learned_twice(self: Any, state: Any) -> None:
    X, Y = state.pending.concatenate()
    for _ in range(2):
        self.advance(state, X, Y, len(X), None, block=True)
    state.pending = state.pending.without_rows()


fault(
    "pending_rows_are_learned_twice",
    "flush learns the pending rows twice",
    "incomplete_batch_is_pending",
    "any_order_of_operations",
    method=BATCHES,
    host=(Rule, "flush", _learned_twice),
)


def _as_it_lies(value: Any, name: str, dtype: Any, *more: Any) -> Any:
    array = convert(value, name, dtype, *more)
    return array if np.asarray(value).flags.c_contiguous else np.asarray(value).ravel("K").reshape(array.shape)


fault(
    "memory_order_is_ignored",
    "an array in Fortran order is read in the order of its memory",
    "any_memory_layout",
    "any_order_of_operations",
    "features_may_be_permuted",
    "outputs_may_be_permuted",
    host=(validation, "convert", _as_it_lies),
)
fault(
    "vector_as_one_row",
    "a vector is accepted as one row",
    "invalid_shapes_are_refused",
    "changed_sizes_are_refused",
    "calls_give_the_same_errors",
    "questions_give_the_same_errors",
    "any_order_of_operations",
    method=OJA,
    kernel=reference_kernel("oja"),
    host=(validation, "matrix", lambda X, *more, **named: matrix(np.atleast_2d(X), *more, **named)),
)


def _cut_off(X: Any, name: str, dtype: Any, columns: int | None, *more: Any, **named: Any) -> Any:
    cut = X[:, :columns] if type(X) is np.ndarray and X.ndim == 2 else X
    return matrix(cut, name, dtype, columns, *more, **named)


fault(
    "additional_columns_are_dropped",
    "additional columns of a later chunk are dropped",
    "single_rows_are_refused_like_rows",
    "changed_sizes_are_refused",
    "any_order_of_operations",
    "calls_give_the_same_errors",
    "single_rows_give_the_same_errors",
    "questions_give_the_same_errors",
    method=OJA,
    kernel=reference_kernel("oja"),
    host=(validation, "matrix", _cut_off),
)
fault(
    "nonfinite_rows_are_accepted",
    "rows with NaN or infinities are passed to the kernel",
    "single_rows_give_the_same_errors",
    "single_rows_are_refused_like_rows",
    "nonfinite_input_is_refused",
    "learn_one_equals_partial_fit",
    "any_order_of_operations",
    "questions_give_the_same_errors",
    "calls_give_the_same_errors",
    host=(validation, "check_finite", lambda value, name, names=(): None),
)
fault(
    "masks_are_dropped",
    "masked entries of a masked array are learned",
    "single_rows_are_refused_like_rows",
    "non_numeric_input_is_refused",
    "any_order_of_operations",
    "questions_give_the_same_errors",
    "calls_give_the_same_errors",
    "single_rows_give_the_same_errors",
    host=(validation, "convert", lambda value, name, dtype, *more: convert(np.asarray(value), name, dtype, *more)),
)


fault(
    "ranges_are_ignored",
    "numbers outside the range of a setting are accepted",
    "invalid_settings_are_refused",
    "spoiled_states_are_refused",
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
    "empty_chunk_changes_weights",
    "learning an empty chunk changes the weights by rounding",
    "empty_chunk_changes_nothing",
    "any_order_of_operations",
    host=(Rule, "learn", _rounded_for_nothing),
)


generator = parameters.generator
fault(
    "seed_is_ignored",
    "the start is drawn with the seed 0, whatever the seed is",
    "starts_are_drawn_with_the_seed",
    "seed_decides_where_numbers_are_drawn",
    method=OJA,
    kernel=reference_kernel("oja"),
    host=(configuration, "generator", lambda random_state, t: generator(0, t)),
)


fault(
    "two_threads_learn_at_once",
    "a learner that learns in one thread takes the rows of another",
    "a_learner_that_learns_refuses_other_threads",
    "learn_one_refuses_other_threads",
    host=(learners, "take", lambda permit: None),
)
