"""Faults with labels: in long calls, and with labels that NumPy's arrays change."""

from __future__ import annotations

from typing import Any

import numpy as np
from helpers.methods import change

from faults.fault import fault
from faults.reference_learner import METHODS, reference_kernel
from orfit_bench.catalogue.methods.class_rls import merge
from orfit_bench.learners import encoding, label_predictions
from orfit_bench.spec import Combine, Merge

CLASS_RLS = change(METHODS["class_rls"], theory={"laws": ()})
encode_array = encoding._encode_array


def _clipped(labels: Any, classes: Any, known: Any) -> Any:
    """Labels that sort after all known ones are treated as the last of these."""
    return encode_array(np.minimum(labels, np.sort(classes)[-1]) if known else labels, classes, known)


fault(
    "labels_after_the_known_are_clipped",
    "in a long call, labels that sort after all known ones are taken for the last known one",
    "a_long_call_with_many_outputs",
    "any_chunking",
    "long_calls_find_the_same_labels",
    "labels_in_lists_equal_arrays",
    "thousands_of_rows",
    method=CLASS_RLS,
    kernel=reference_kernel("class_rls"),
    host=(encoding, "_encode_array", _clipped),
)
fault(
    "labels_are_shortened",
    "the classes are what is left of them in an array of NumPy",
    "labels_are_kept_as_they_are",
    "labels_in_lists_equal_arrays",
    "first_of_tied_classes_is_predicted",
    method=CLASS_RLS,
    kernel=reference_kernel("class_rls"),
    host=(label_predictions, "array_of_labels", np.array),
)


def _softmax_of_the_batch(scores: Any, settings: Any) -> Any:
    found = np.exp(scores)
    return found / found.sum()


fault(
    "probabilities_of_the_batch",
    "the probabilities of all rows of a call together add up to 1",
    "first_of_tied_classes_is_predicted",
    "later_class_needs_a_larger_score",
    method=change(CLASS_RLS, state={"probabilities": _softmax_of_the_batch}),
    kernel=reference_kernel("class_rls"),
)


def _halves_new_classes(a: Any, b: Any, settings: Any) -> Any:
    merged = merge(a, b, settings)
    if (known := a.fields["w"].any(axis=0)).any():
        merged["w"][:, ~known] /= 2
    return merged


fault(
    "merge_of_a_class_that_only_one_has_seen",
    "a merge halves the weights of a class that the first learner has not seen",
    "merges_as_declared",
    "merges_in_other_ways",
    method=change(CLASS_RLS, combine=Combine(Merge("exact", "the sum", _halves_new_classes))),
    kernel=reference_kernel("class_rls"),
)
