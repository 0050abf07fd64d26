"""The predictions of `prequential` for rows that are learned in parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from orfit_bench.learners.learner import Learner
from orfit_bench.learners.pipelines.transforms import Intercept

Array = np.ndarray[Any, Any]


def predict_rows(learner: Learner, rows: Array) -> Any:
    """The predictions that `prequential` returns, for rows of which none has been learned yet."""
    score = getattr(learner, "decision_function" if learner.method.traits.labels else "predict")
    return score(Intercept().transform(rows))


def with_all_classes(predicted: Any, learner: Learner) -> Any:
    """Scores, with a column added for a class that was new in their row; other predictions are unchanged."""
    if not learner.method.traits.labels or learner.live_state is None:
        return predicted
    return _widen(predicted, len(learner.live_state.classes), learner.rule.namespace)


def join(found: Sequence[Any], learner: Learner) -> Any:
    """The predictions of all parts; scores of classes that were not known yet are zero, as in one call."""
    if len(found) == 1:
        return found[0]
    xp: Any = learner.rule.namespace
    width = max(a.shape[-1] for a in found) if found[0].ndim > 1 else 0
    padded = [a if a.ndim < 2 or a.shape[-1] == width else _widen(a, width, xp) for a in found]
    return xp.concat(padded)


def _widen(a: Any, width: int, xp: Any) -> Any:
    return xp.concat([a, xp.zeros((a.shape[0], width - a.shape[1]), dtype=a.dtype)], axis=1)
