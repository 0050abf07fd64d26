"""Probabilities of classes, for methods that declare how they follow from predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.learners.rule import Rule


def class_probabilities(rule: Rule, predictions: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The probabilities (n, k) for predictions (n, r) in host memory; TypeError if the method lacks them."""
    declared = rule.method.state.probabilities
    found = declared(predictions, rule.settings) if declared else None
    if found is None:
        raise TypeError(
            f"predict_proba: {rule.method.name} with these settings predicts no probabilities; class_rls and "
            f"softmax do, and sgd with loss='logistic' or 'cross_entropy'"
        )
    return np.asarray(found)
