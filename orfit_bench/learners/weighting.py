"""Rows with weights, learned by kernels that do not support weights (docs/decisions/0048)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from orfit_bench.errors import DivergedError
from orfit_bench.learners import validation
from orfit_bench.learners.conversion import convert
from orfit_bench.learners.rule import Rule
from orfit_bench.learners.unlearning import unlearn
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Method
from orfit_bench.spec.backend import Array
from orfit_bench.spec.weighting import Weighting
from orfit_bench.state.state import LearnerState
from orfit_bench.tables.columns import read_columns
from orfit_bench.tables.row_labels import check_rows_agree

HostArray = np.ndarray[Any, Any]
MOST_REPETITIONS = 1000
"""The largest weight that is learned by repeating the row."""


def require(method: Method) -> Weighting:
    """How the method learns weights; TypeError if it has no rule."""
    if method.kernel.weighting is None:
        others = ", ".join(sorted(m.name for m in registry().methods.values() if m.kernel.weighting))
        raise TypeError(f"sample_weight: {method.name} has no rule for the weight of a row; these have one: {others}")
    return method.kernel.weighting


def validate(value: object, rule: Rule, shape: tuple[int, ...], X: object = None) -> HostArray:
    """The weights of the rows X in host memory; TypeError or ValueError if the method cannot learn them."""
    weighting = require(rule.method)
    check_rows_agree(X, value, "sample_weight", len(shape))
    values, _ = read_columns(value, "sample_weight")
    weights = validation.numbers(values, "sample_weight", np.dtype(float))
    convert(weights, "sample_weight", np.finfo(rule.dtype).dtype)  # refuses a weight that is infinite there
    if weights.shape != shape:
        raise ValueError(f"sample_weight: got shape {weights.shape}, want {shape}, one weight for each row")
    if (weights < 0).any() and not weighting.sums:
        signed = ", ".join(sorted(m.name for m in registry().methods.values() if _unlearns(m)))
        raise ValueError(
            f"{first(weights, weights < 0)}: want a weight >= 0; a negative weight unlearns a row with {signed} only"
        )
    if weighting.repeats_rows:
        _check_repetitions(weights, rule)
    return weights


def _unlearns(method: Method) -> bool:
    return bool(method.kernel.weighting and method.kernel.weighting.sums)


def first(weights: HostArray, wrong: HostArray) -> str:
    """The first wrong weight, and where it is."""
    place = np.argwhere(wrong)[0].tolist()
    return f"sample_weight[{', '.join(map(str, place))}] is {weights[tuple(place)]}"


def _check_repetitions(weights: HostArray, rule: Rule) -> None:
    name = rule.method.name
    if (weights > MOST_REPETITIONS).any():
        raise ValueError(
            f"{first(weights, weights > MOST_REPETITIONS)}: {name} repeats a row as often as its weight says, want at "
            f"most {MOST_REPETITIONS}; divide all weights by their mean"
        )
    if rule.batch_size > 1 and (weights % 1).any():
        raise ValueError(f"{first(weights, weights % 1 > 0)}: {name} with batch_size > 1 requires integer weights")


def learn(
    rule: Rule, state: LearnerState, X: Array, Y: Array, weights: HostArray, predict: bool = False
) -> Array | None:
    """Learn rows with their weights as `Rule.learn` does; rows of weight 0 change only the count of rows.

    If some are negative, a copy learns them, since rows may be refused after others were learned.
    """
    if not (weights < 0).any():
        return _learn_runs(rule, state, X, Y, weights, predict)
    twin, found, refused = rule.copy(state), None, None
    try:
        found = _learn_runs(rule, twin, X, Y, weights, predict)
    except DivergedError as error:  # the rows before it are learned
        refused = error
    state.assign(twin)
    if refused:
        raise refused
    return found


def _learn_runs(rule: Rule, state: LearnerState, X: Array, Y: Array, weights: HostArray, predict: bool) -> Array | None:
    """Learn consecutive rows whose weights have one sign together."""
    weighting = require(rule.method)
    scale = weights if weighting.repeats_rows else signed_roots(weights, rule.dtype)
    out = rule.empty(Y.shape) if predict else None
    for run in _runs_of_one_sign(scale, single=predict):
        seen = state.n_samples
        x, y, w = X[run, ...], Y[run, ...], scale[run]
        try:
            if not w[0]:
                found = rule.predict(state, x) if predict else None
            elif weighting.repeats_rows:
                found = _learn_repetitions(rule, state, x, y, w, predict)
            elif w[0] < 0:
                found = rule.predict(state, x) if predict else None
                unlearn(rule, state, partial(_learn_scaled, rule, state, x, y, -w))
            else:
                found = _learn_scaled(rule, state, x, y, w, predict)
        except DivergedError as error:
            discarded = max(0, seen - state.n_samples)  # pending rows of the refused step
            state.n_samples = max(0, seen + error.row - discarded)
            raise rule.divergence(error.step, run.start + error.row) from None
        state.n_samples = seen + x.shape[0]
        if out is not None:
            out[run, ...] = found
    return out


def repetitions(weights: HostArray, dtype: np.dtype[Any]) -> tuple[HostArray, HostArray]:
    """The row of each repetition (n',), and its share of a step: for the last repetition of a row, what is left."""
    counts = np.ceil(weights).astype(int)
    rows = np.repeat(np.arange(len(weights)), counts)
    part = np.ones(len(rows), np.finfo(dtype).dtype)  # real numbers, for complex rows too
    last = np.cumsum(counts)[counts > 0] - 1
    part[last] = (weights - (counts - 1))[counts > 0]
    return rows, part


def signed_roots(weights: HostArray, dtype: np.dtype[Any]) -> HostArray:
    """The roots of the weights with their signs, 0 where rows multiplied by the root would lose digits in the dtype."""
    sizes, info = np.sqrt(np.abs(weights)), np.finfo(dtype)
    roots: HostArray = np.copysign(np.where(sizes > info.tiny / info.eps, sizes, 0), weights).astype(dtype)
    return roots


def _runs_of_one_sign(scale: HostArray, single: bool) -> Iterator[slice]:
    """Consecutive rows whose weights have one sign; with `single`, each row of negative weight alone."""
    sign = np.sign(scale)
    ends = (sign[1:] != sign[:-1]) | ((sign[1:] < 0) & single)
    cuts = [0, *(np.flatnonzero(ends) + 1).tolist(), len(scale)]
    return (slice(i, j) for i, j in pairwise(cuts) if i < j)


def _learn_scaled(
    rule: Rule, state: LearnerState, X: Array, Y: Array, root: HostArray, predict: bool = False
) -> Array | None:
    """Learn rows whose squared errors count by the square of `root`."""
    scale = rule.place(root)[:, None]
    if not rule.is_linear:
        return rule.learn(state, X, Y, predict, {"row_scale": scale})
    found = rule.learn(state, scale * X, scale * Y, predict)
    return None if found is None else found / scale


def _learn_repetitions(
    rule: Rule, state: LearnerState, X: Array, Y: Array, weights: HostArray, predict: bool
) -> Array | None:
    """Learn each row as often as its weight says, a fraction by a shorter step."""
    rows, part = repetitions(weights, rule.dtype)
    x, y = (rule.place(np.ascontiguousarray(rule.backend.asnumpy(a)[rows])) for a in (X, Y))
    before = state.pending
    try:
        found = rule.learn(state, x, y, predict, None if (part == 1).all() else {"step_size": part})
    except DivergedError as error:
        raise rule.divergence(error.step, int(rows[error.row])) from None
    if waiting := state.pending.count:
        new = rows[-waiting:]
        copies = len(new) - len(np.unique(new)) + (before.copies if waiting > len(rows) else 0)
        state.pending = replace(state.pending, copies=copies)
    return None if found is None else rule.place(rule.backend.asnumpy(found)[np.unique(rows, return_index=True)[1]])
