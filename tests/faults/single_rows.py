"""Faults with rows that are learned one at a time, with names of their columns, and with bytes that are read."""

from __future__ import annotations

from typing import Any

import numpy as np
from helpers.methods import change

from faults.fault import fault
from faults.reference_learner import LINEAR_LMS, METHODS, reference_kernel, reference_with
from orfit_bench.learners.learner import Learner
from orfit_bench.learners.regressor import Regressor
from orfit_bench.learners.restoring import from_bytes
from orfit_bench.state import binary, files, serialization
from orfit_bench.tables import single_rows

learn_one = Regressor.learn_one


def _absolute(self: Any, x: Any, y: Any, **more: Any) -> Any:
    return learn_one(self, x, y if isinstance(y, dict) else abs(y), **more)


def _without_weight(self: Any, x: Any, y: Any, *, sample_weight: Any = None, **more: Any) -> Any:
    return learn_one(self, x, y, **more)


fault(
    "learn_one_ignores_the_weight",
    "a single row is learned as if its weight were 1",
    "integer_weights_repeat_rows",
    "weights_count_in_any_chunks",
    method=change(METHODS["sgd"], theory={"laws": ()}),
    kernel=reference_kernel("sgd"),
    host=(Regressor, "learn_one", _without_weight),
)


def _bound_to_a_step(s: Any, p: Any) -> Any:
    """A `bind_row` of `lms` that reads the step size when it binds."""
    step = p.step_size[0]
    return lambda x, y: _take_step(s, x, y, step)


def _take_step(s: Any, x: Any, y: Any, step: Any) -> int:
    """Learn a row of `lms`; 0 if it is left to `learn`."""
    with np.errstate(all="ignore"):
        w = s.w + step * (x * (y - x @ s.w[:, 0]))[:, None]
    if s.w.shape[1] > 1 or not np.isfinite(w).all():
        return 0
    s.w[...] = w
    return 1


fault(
    "bound_rows_keep_the_step_size",
    "a function that is bound to a state takes the first step size of a schedule in all steps",
    "learn_one_equals_partial_fit",
    "names_are_kept",
    "predicts_before_each_step",
    method=LINEAR_LMS,
    kernel=reference_with("lms", bind_row=_bound_to_a_step),
)


def _bound_to_few_features(s: Any, p: Any) -> Any:
    """A `bind_row` of `lms` whose steps with more than 16 features are 1 % too short."""
    share = s.w.dtype.type(1 if len(s.w) <= 16 else 0.99)
    return lambda x, y: _take_step(s, x, y, share * p.step_size[0])


fault(
    "bound_rows_of_many_features_are_short",
    "a function that is bound to a state takes steps that are 1 % too short with more than 16 features",
    "learn_one_equals_partial_fit",
    "predicts_before_each_step",
    method=LINEAR_LMS,
    kernel=reference_with("lms", bind_row=_bound_to_few_features),
)

checked = serialization.checked


def _as_if_native(name: str, given: Any, shape: Any, dtype: Any) -> Any:
    if name in given:
        given = {**given, name: given[name].view(given[name].dtype.newbyteorder("="))}
    return checked(name, given, shape, dtype)


fault(
    "byte_order_of_a_state_is_ignored",
    "the arrays of a state are read in the byte order of this machine, whatever theirs is",
    "states_of_any_layout_are_restored",
    "any_order_of_operations",
    method=LINEAR_LMS,
    kernel=reference_with("lms"),
    host=(serialization, "checked", _as_if_native),
)

fault(
    "learn_one_loses_the_sign",
    "learn_one learns the absolute value of the target",
    "any_type_of_numbers_in_one_row",
    "learn_one_equals_partial_fit",
    "named_rows_are_learned_in_any_order",
    "single_rows_give_the_same_errors",
    host=(Regressor, "learn_one", _absolute),
)
fault(
    "names_are_not_put_in_order",
    "the entries of a row with names are taken in the order in which they come",
    "named_rows_are_learned_in_any_order",
    "names_are_kept",
    "targets_have_names_in_any_order",
    host=(single_rows, "values_by_name", lambda x, known: list(x.values()) if known else None),
)
fault(
    "bytes_are_not_checked",
    "bytes are read without a look at their length, version and checksum",
    "forged_bytes_are_refused",
    "changed_bytes_are_refused",
    "cut_bytes_are_refused",
    host=(binary, "_check", lambda view: None),
)


def _pickled_in_half(self: Any) -> tuple[Any, ...]:
    half = self.copy()
    for a in half.live_state.arrays:
        if a.dtype.kind == "f":
            a[...] = a.astype("float16")
    return from_bytes, (half.to_bytes(),)


fault(
    "pickled_in_half_precision",
    "pickling keeps three digits",
    "pickle_continues_identically",
    "names_are_kept",
    host=(Learner, "__reduce__", _pickled_in_half),
)


def _raises_what_comes(path: Any) -> Any:
    try:
        return read_file(path)
    except ValueError as error:
        raise KeyError(str(error)) from error


read_file = files.read
fault(
    "damaged_files_are_a_missing_key",
    "a file that is damaged raises KeyError",
    "earlier_formats_are_read",
    "changed_files_are_refused",
    "cut_files_are_refused",
    "forged_files_are_refused",
    host=(files, "read", _raises_what_comes),
)
