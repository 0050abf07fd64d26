"""Faults in the checks of saved learners, and in the messages about invalid input."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from helpers.methods import change

from faults.fault import fault
from faults.reference_learner import (
    LINEAR_LMS,
    METHODS,
    PLAIN,
    KernelModule,
    one_by_one,
    plain,
    reference_kernel,
    reference_with,
)
from orfit_bench.learners import restoring
from orfit_bench.learners.learner import Learner
from orfit_bench.learners.pipelines.saving import Saving
from orfit_bench.learners.pipelines.standardizer import Standardizer
from orfit_bench.learners.regressor import Regressor
from orfit_bench.learners.rule import Rule
from orfit_bench.learners.single_row import SingleRow
from orfit_bench.spec import Field
from orfit_bench.state import files, header, serialization

fault(
    "unknown_arrays_are_ignored",
    "arrays of a state that the method does not declare are ignored",
    "spoiled_states_are_refused",
    "forged_bytes_are_refused",
    host=(serialization, "refuse_unknown", lambda given, fields: None),
)
fault(
    "earlier_formats_are_refused",
    "states of earlier formats are not read",
    "earlier_formats_are_read",
    "states_of_any_layout_are_restored",
    "forged_files_are_refused",
    host=(header, "READ", (4,)),
)
fault(
    "digests_of_arrays_are_not_compared",
    "an array of a file is read although its digest is that of another",
    "changed_files_are_refused",
    "forged_files_are_refused",
    host=(files, "_wrong_digests", lambda digests, given: ""),
)
prequential = Regressor.prequential


def _prequential_in_other_words(self: Any, X: Any, y: Any, **more: Any) -> Any:
    try:
        return prequential(self, X, y, **more)
    except (TypeError, ValueError) as error:
        raise ValueError("y or X is invalid") from error


fault(
    "prequential_has_errors_of_its_own",
    "prequential says about invalid input only that it is invalid",
    "nonfinite_input_is_refused",
    "single_rows_give_the_same_errors",
    "calls_give_the_same_errors",
    "missing_targets_are_of_a_wrong_type",
    method=LINEAR_LMS,
    kernel=reference_with("lms"),
    host=(Regressor, "prequential", _prequential_in_other_words),
)
rows_to_predict = Learner._rows_to_predict


def _rows_in_other_words(self: Any, X: Any) -> Any:
    try:
        return rows_to_predict(self, X)
    except (TypeError, ValueError) as error:
        raise RuntimeError("X cannot be predicted") from error


fault(
    "questions_have_errors_of_their_own",
    "predict raises RuntimeError for invalid rows",
    "questions_give_the_same_errors",
    "changed_sizes_are_refused",
    "single_rows_are_refused_like_rows",
    "learn_one_equals_partial_fit",
    method=LINEAR_LMS,
    kernel=reference_with("lms"),
    host=(Learner, "_rows_to_predict", _rows_in_other_words),
)


def _adds_squares(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    n = 0
    for i, _ in one_by_one(plain, s, X, Y, p, out):
        with np.errstate(over="ignore"):
            s.energy[...] += (X[i] * X[i]).sum()
        n += 1
    return n


fault(
    "sum_of_squares_overflows",
    "a field adds up the squares of the rows, and becomes infinite",
    "growing_sums_stay_finite",
    "huge_and_tiny_scales",
    "refused_rows_leave_no_trace",
    method=change(PLAIN, state={"fields": (*PLAIN.state.fields, Field("energy", (), "sum of squares"))}),
    kernel=KernelModule(learn=_adds_squares),
)


fault(
    "a_failing_model_leaves_traces",
    "no copy of the state is kept while functions of the user run",
    "model_that_raises_changes_nothing",
    "model_of_a_wrong_shape_changes_nothing",
    method=change(METHODS["lms"], theory={"laws": ()}),
    kernel=reference_kernel("lms"),
    host=(Rule, "runs_user_code", lambda self, inputs: False),
)
settings_of = restoring._settings


def _whatever_the_name(plain: dict[str, Any], arrays: dict[str, Any], transition: Any) -> dict[str, Any]:
    saved = plain.get("transition")
    if transition is not None and isinstance(saved, dict):
        transition = replace(transition, name=saved["transition"])
    return settings_of(plain, arrays, transition)


fault(
    "any_transition_will_do",
    "a state is restored with a transition of another name",
    "states_are_restored_with_their_functions",
    "files_are_read_with_their_functions",
    method=change(METHODS["kalman"], theory={"laws": ()}),
    kernel=reference_kernel("kalman"),
    host=(restoring, "_settings", _whatever_the_name),
)
learn_number = SingleRow.learn_number


def _first_target(self: Any, state: Any, x: Any, y: Any) -> Any:
    return learn_number(self, state, x, y[0] if isinstance(y, np.ndarray) and y.shape == (2,) else y)


fault(
    "a_target_too_many_is_dropped",
    "learn_one learns the first of two targets where there is one",
    "single_rows_are_refused_like_rows",
    "single_rows_give_the_same_errors",
    method=LINEAR_LMS,
    kernel=reference_with("lms"),
    host=(SingleRow, "learn_number", _first_target),
)


header_of = Saving._header


def _without_moments(self: Any) -> Any:
    header, blank = header_of(self), Standardizer().to_dict()
    return header | {"steps": [blank if step["name"] == "standardize" else step for step in header["steps"]]}


fault(
    "pipelines_are_saved_without_their_rows",
    "a saved pipeline has forgotten the moments of its rows",
    "pipelines_continue_from_bytes_and_files",
    "pipelines_continue_from_states",
    method=change(METHODS["lms"], theory={"laws": ()}),
    kernel=reference_kernel("lms"),
    host=(Saving, "_header", _without_moments),
)


def _fails(*parts: Any) -> Any:
    raise KeyError("steps")


fault(
    "pipelines_cannot_be_read",
    "to read the bytes of a pipeline raises KeyError",
    "pipelines_continue_from_bytes_and_files",
    "changed_pipelines_are_refused",
    method=change(METHODS["lms"], theory={"laws": ()}),
    kernel=reference_kernel("lms"),
    host=(restoring, "_from_pipeline", _fails),
)
