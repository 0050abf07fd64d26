"""Faults in ties, at kinks, in the errors of refused steps, and between different learners."""

from __future__ import annotations

from typing import Any

import numpy as np
from helpers.methods import change

from faults.fault import fault
from faults.reference_learner import (
    LINEAR_LMS,
    METHODS,
    reference_kernel,
    reference_with,
)
from orfit_bench.learners.classifier import Classifier
from orfit_bench.learners.rule import Rule
from orfit_bench.state import merging

# ---------------------------------------------------------------------- refused steps

divergence = Rule.divergence


fault(
    "number_of_the_refused_step_is_wrong",
    "the error of a refused step has the number of the step before it",
    "refused_step_is_named",
    "any_order_of_operations",
    host=(Rule, "divergence", lambda self, step, row: divergence(self, step - 1, row)),
)

# ---------------------------------------------------------------------- kinks and ties


SGD = reference_kernel("sgd")
fault(
    "absolute_error_at_zero_has_a_slope",
    "where an absolute error is zero, the subgradient is that of a positive one",
    "exact_prediction_is_not_corrected",
    "law_zero_subgradient_at_kinks",
    method=METHODS["sgd"],
    kernel=SGD,
    host=(SGD, "SLOPES", {**SGD.SLOPES, "absolute": lambda E, Y, p: np.where(E >= 0, -1.0, 1.0).astype(E.dtype)}),
)

fault(
    "hinge_at_the_margin_has_a_slope",
    "where a prediction is exactly at the margin of the hinge, the subgradient is that of one before it",
    "step_at_a_margin_is_zero",
    "law_zero_subgradient_at_kinks",
    method=METHODS["sgd"],
    kernel=SGD,
    host=(SGD, "SLOPES", {**SGD.SLOPES, "hinge": lambda E, Y, p: -Y * np.heaviside(Y * E, 1)}),
)


def _last_of_tied(self: Any, scores: Any) -> Any:
    found = self._with_classes(scores)
    return self.classes_[found.shape[1] - 1 - found[:, ::-1].argmax(axis=1)]


fault(
    "last_of_tied_classes_is_predicted",
    "of classes with the same score, predict takes the one that was seen last",
    "first_of_tied_classes_is_predicted",
    "later_class_needs_a_larger_score",
    method=change(METHODS["class_rls"], theory={"laws": ()}),
    kernel=reference_kernel("class_rls"),
    host=(Classifier, "_labels", _last_of_tied),
)

# ---------------------------------------------------------------------- unlike learners

merge = merging.merge


def _raises_key_errors(*arguments: Any) -> Any:
    try:
        return merge(*arguments)
    except ValueError as error:
        raise KeyError(str(error)) from error


fault(
    "wrong_merges_are_a_missing_key",
    "a merge rule that returns something wrong raises KeyError",
    "merge_rules_return_fields",
    "merged_fields_fit",
    method=LINEAR_LMS,
    kernel=reference_with("lms"),
    host=(merging, "merge", _raises_key_errors),
)

fault(
    "unlike_learners_are_combined",
    "the sizes of learners are not compared when they are merged or averaged",
    "averaging_does_not_depend_on_the_order",
    "unlike_learners_are_not_combined",
    "names_decide_what_is_merged",
    "any_order_of_operations",
    method=LINEAR_LMS,
    kernel=reference_with("lms"),
    host=(merging, "check_states_alike", lambda *arguments, **options: None),
)
