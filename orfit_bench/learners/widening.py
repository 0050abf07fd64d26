"""Features that appear while a learner learns: they count as zero in all rows before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from orfit_bench.errors import DivergedError
from orfit_bench.learners.factory import learner_of
from orfit_bench.learners.learner import Learner
from orfit_bench.state.state import LearnerState

FEATURES = {"parameter", "feature"}
"""The dimensions that are as long as a row, on the linear model."""
CHUNK = 10_000


def widened(learner: Learner, more: int) -> Any:
    """A learner with `more` further features after the known ones, which were zero in all rows so far.

    Fields that start at zero stay zero along a feature that is always zero. All others, such as P of recursive least
    squares, get the values of a learner of only the new features after as many rows of zeros, and zeros between old and
    new features: for `rls`, I / (ridge ff^t). A subspace starts orthogonal to features that it has not seen. The
    result has no names of columns; the caller keeps them.

    Raises
    ------
    ValueError
        If the model is not linear; if a setting is an array or initial weights are given, whose entries for the new
        features are unknown; or if the values for the new features are not finite.
    """
    rule, state = learner.rule, learner.live_state
    if state is None:
        return learner
    arrays = [name for name, value in rule.settings.items() if isinstance(value, np.ndarray) and value.ndim]
    if not rule.is_linear or arrays or learner.initial_weights is not None:
        what = f"with an array for {arrays[0]}" if arrays else "with initial_weights"
        raise ValueError(
            f"{rule.method.name} {what if rule.is_linear else 'on this model'} has no exact rule for a feature that "
            f"appears at a later row: give the first row all features, with 0 for those that are missing"
        )
    d, old = state.sizes.n_features, rule.layout(state.sizes)
    sizes = state.sizes._replace(n_features=d + more)
    fields, given = {}, old.arrays(state.arrays)
    unseen = _unseen(learner, state, more)
    for f in old.fields:
        along = [dim in FEATURES for dim in f.dims]
        narrow = given[f.name]
        fields[f.name] = np.pad(narrow, [(0, more * it) for it in along]) if any(along) else narrow
        if f.name in unseen:
            fields[f.name][tuple(slice(d, None) if it else slice(None) for it in along)] = unseen[f.name]
    X, Y = state.pending.concatenate()
    wider = np.pad(rule.backend.asnumpy(X), [(0, 0), (0, more)])
    pending = rule.no_rows(sizes).with_rows(rule.backend.asarray(wider), Y)
    return learner_of(
        rule, replace(state, sizes=sizes, arrays=rule.layout(sizes).start(fields), pending=pending, feature_names=())
    )


def _unseen(learner: Learner, state: LearnerState, more: int) -> dict[str, Any]:
    """The fields that do not start at zero, of a learner of `more` features that learned as many rows of zeros."""
    rule = learner.rule
    if not rule.method.traits.supervised:
        return {}
    sizes = state.sizes._replace(n_features=more)
    twin = rule.init(sizes, state.classes)
    first = rule.layout(sizes).arrays(twin.arrays)
    started = [
        f.name
        for f in rule.layout(sizes).fields
        if FEATURES & set(f.dims) and (f.start or (f.name == rule.method.state.weights and first[f.name].any()))
    ]
    if not started:
        return {}
    for start in range(0, state.n_samples, CHUNK):
        n = min(CHUNK, state.n_samples - start)
        X, Y = np.zeros((n, more), rule.dtype), np.zeros((n, sizes.n_outputs), rule.dtype)
        try:
            rule.learn(twin, rule.backend.asarray(X), rule.backend.asarray(Y))
        except DivergedError:
            raise ValueError(
                f"{rule.method.name} has no finite state for a feature that appears after {state.n_samples} rows in "
                f"which it was zero: give the first row all features, with 0 for those that are missing, or choose "
                f"other settings ({', '.join(rule.settings)})"
            ) from None
    arrays = rule.layout(sizes).arrays(twin.arrays)
    return {name: arrays[name] for name in started}
