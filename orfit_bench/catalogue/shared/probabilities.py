"""Probabilities of classes from predictions of a method."""

from __future__ import annotations

import numpy as np

from orfit_bench.spec import Array


def nearest_distributions(scores: Array) -> Array:
    """For each row of scores (n, k), the probabilities with the smallest sum of squared differences from the scores.

    Scores of least squares on one-hot targets add up to about 1, but can be negative: the projection onto the simplex
    subtracts the same number from all, so that the positive ones add up to 1.
    """
    descending = np.sort(scores, axis=1)[:, ::-1]
    excess = (np.cumsum(descending, axis=1) - 1) / np.arange(1, scores.shape[1] + 1, dtype=scores.dtype)
    last = (descending > excess).sum(axis=1) - 1
    found = np.maximum(scores - np.take_along_axis(excess, last[:, None], axis=1), 0.0)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def logistic_probabilities(margins: Array) -> Array:
    """P(y = -1) and P(y = 1) for margins (n, 1) of the logistic loss. Raises ValueError for several columns."""
    from scipy.special import expit  # slow to import

    if margins.shape[1] > 1:
        raise ValueError(f"predict_proba: y had {margins.shape[1]} columns, want one; create a learner for each")
    return np.hstack([expit(-margins), expit(margins)])
