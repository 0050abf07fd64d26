"""Faults in the common code for rows in other coordinates, sparse rows and names of columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from helpers.methods import change

from faults.fault import fault
from faults.reference_learner import LINEAR_LMS, METHODS, reference_kernel, reference_with
from orfit_bench.learners import sparse, validation
from orfit_bench.state import coordinates, dataset, merging

RLS = change(METHODS["rls"], theory={"laws": ()}, kernel={"models": False})


def _moved_once(change: Any, P: Any) -> Any:
    new = change.solve(P)
    return (new + new.conj().T) / 2


fault(
    "covariance_moves_on_one_side",
    "a covariance is multiplied by the change of coordinates from one side only",
    "other_coordinates_change_no_prediction",
    "parts_in_other_coordinates_merge",
    "standardized_rows_have_one_prior",
    "changed_pipelines_are_refused",
    "pipelines_continue_from_bytes_and_files",
    "pipelines_continue_from_states",
    method=RLS,
    kernel=reference_kernel("rls"),
    host=(coordinates, "RULES", coordinates.RULES | {"covariance": _moved_once}),
)

fault(
    "prior_of_a_pipeline_stays",
    "the prior of a pipeline is that in the coordinates of the first rows",
    "standardized_rows_have_one_prior",
    "parts_in_other_coordinates_merge",
    method=RLS,
    kernel=reference_kernel("rls"),
    host=(coordinates, "with_new_prior", lambda rule, state, change: state),
)

columns_in_use = sparse._columns_in_use


def _without_signs(X: Any, block: Any) -> Any:
    dense, columns = columns_in_use(X, block)
    return np.abs(dense), columns


fault(
    "sparse_rows_lose_their_signs",
    "the numbers of sparse rows are learned without their signs",
    "sparse_rows_are_learned_like_dense_rows",
    "sparse_rows_in_several_calls",
    method=LINEAR_LMS,
    kernel=reference_with("lms"),
    host=(sparse, "_columns_in_use", _without_signs),
)

fault(
    "state_forgets_the_names",
    "the arrays of a state have no names along features and weights",
    "state_names_the_columns",
    "names_are_kept",
    "targets_have_names_in_any_order",
    "names_decide_what_is_merged",
    method=LINEAR_LMS,
    kernel=reference_with("lms"),
    host=(dataset, "named_dimensions", lambda *arguments: {}),
)

named_dimensions = dataset.named_dimensions


def _without_outputs(*arguments: Any) -> dict[str, tuple[str, ...]]:
    return {dim: names for dim, names in named_dimensions(*arguments).items() if dim not in ("output", "target")}


fault(
    "state_forgets_the_names_of_outputs",
    "the arrays of a state have no names along outputs",
    "targets_have_names_in_any_order",
    "state_names_the_columns",
    "names_decide_what_is_merged",
    method=LINEAR_LMS,
    kernel=reference_with("lms"),
    host=(dataset, "named_dimensions", _without_outputs),
)

check_states_alike = merging.check_states_alike


def _without_names(act: str, a: Any, b: Any, labels: bool) -> None:
    check_states_alike(act, *(s and replace(s, feature_names=()) for s in (a, b)), labels)


fault(
    "names_are_not_compared",
    "learners of rows with other names are merged and averaged",
    "names_decide_what_is_merged",
    "unlike_learners_are_not_combined",
    method=LINEAR_LMS,
    kernel=reference_with("lms"),
    host=(merging, "check_states_alike", _without_names),
)

labels = validation.labels


def _labels_with_other_errors(value: Any, *more: Any) -> Any:
    if np.ndim(value) == 0:
        is_missing = np.asarray(value).dtype.kind == "O"
        raise (ValueError if is_missing else TypeError)("y: want one label a row")
    return labels(value, *more)


fault(
    "errors_of_labels_are_exchanged",
    "missing labels raise ValueError, and a single one TypeError",
    "missing_targets_are_of_a_wrong_type",
    "invalid_shapes_are_refused",
    "labels_in_lists_equal_arrays",
    "long_calls_find_the_same_labels",
    method=change(METHODS["class_rls"], theory={"laws": ()}),
    kernel=reference_kernel("class_rls"),
    host=(validation, "labels", _labels_with_other_errors),
)
