"""Rows of a chunk that are learned in parts, between which the coordinates move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.errors import DivergedError
from orfit_bench.learners import weighting
from orfit_bench.learners.learner import Learner
from orfit_bench.learners.pipelines.moves import Segment, segments
from orfit_bench.learners.pipelines.position import PRIOR_MOVES, SETTLED, Position
from orfit_bench.learners.pipelines.standardizer import RunningMoments, Standardizer
from orfit_bench.learners.pipelines.transforms import Intercept
from orfit_bench.state.state import LearnerState

Array = np.ndarray[Any, Any]


class Learned(NamedTuple):
    """The result of learning rows."""

    standardizer: Standardizer
    position: Position
    found: Any = None
    """What the method returned; for several parts, one array for all rows."""
    error: BaseException | None = None
    """To be raised: the error of the first row that was not learned, or, after all rows, a warning that is an error."""


def learn(
    learner: Learner,
    standardizer: Standardizer,
    position: Position,
    verb: str,
    X: Array,
    targets: Sequence[Any],
    given: Mapping[str, Any],
) -> Learned:
    """Learn rows X (n, d) by a method (`verb`) of the learner, with arguments that have one entry per row.

    If this raises an error, the learner is unchanged; an error in `Learned` does not undo the rows learned before it.
    """
    parts, moments, counts, weights, given = _plan(learner, standardizer, position, X, targets, given)
    backup = None if [part.move for part in parts] == [None] else learner.copy()
    found: list[Any] = []
    start, seen, width, warning = 0, learner.n_samples_seen_, 0, None
    has_prior = _has_exact_merge(learner)
    try:
        for (start, stop, move, number), moves_prior in _calls(parts, learner):
            before, predicted = (learner.live_state, position), None
            wider = position.with_prior_there(learner, move) if move and has_prior and number < SETTLED else None
            if wider is not None:
                if verb == "prequential":
                    predicted = _predicted(learner, position.rows(X[start:stop], standardizer))
                learner.live_state, position = wider
            elif move is not None:
                position = position.moved(learner, move)
            rows = Intercept().transform(position.rows(X[start:stop], standardizer))
            width = rows.shape[1]
            Y, some = (targets, given) if len(rows) == len(X) else _cut(targets, given, start, stop)
            answer, late = _call(learner, verb if predicted is None else "partial_fit", rows, Y, some)
            found.append(answer if predicted is None else _with_all_classes(predicted, learner))
            warning = warning or late
            if moves_prior:
                position = position.with_prior_here(learner)
    except DivergedError as error:
        row = start + error.row
        if error.row == 0:  # the coordinates moved to a row that was refused
            position = _return(learner, *before)
        reached = standardizer.moments(X[:row], None if weights is None else weights[:row]).after
        diverged = learner.rule.divergence(error.step, row, is_scaled=standardizer.scale)
        return Learned(reached, position.after(counts[:row]), error=diverged)
    except BaseException as error:
        if backup is not None:
            learner.live_state = backup.live_state
            if width and isinstance(error, (TypeError, ValueError)):
                raise _error_of_call(error, learner, verb, (len(X), width), targets, given) from None
        elif learner.n_samples_seen_ != seen:
            return Learned(moments.after, position.after(counts), error=error)
        raise
    if warning is not None or verb != "prequential":
        return Learned(moments.after, position.after(counts), error=warning)
    return Learned(moments.after, position.after(counts), _joined(found, learner))


class _Plan(NamedTuple):
    """How the rows of a call are learned."""

    parts: list[Segment]
    moments: RunningMoments
    counts: Array
    """Which rows count (n,)."""
    weights: Array | None
    given: dict[str, Any]
    """The arguments that come with the rows."""


def _plan(
    learner: Learner,
    standardizer: Standardizer,
    position: Position,
    X: Array,
    targets: Sequence[Any],
    given: Mapping[str, Any],
) -> _Plan:
    """The parts of the rows, and their moments; the learner is unchanged."""
    given = {name: value for name, value in given.items() if value is not None}
    weights = None
    if "sample_weight" in given:
        given["sample_weight"] = weights = weighting.validate(given["sample_weight"], learner.rule, (len(X),))
    moments = standardizer.moments(X, weights)
    counts = np.ones(len(X), bool) if weights is None else weights > 0
    parts = list(segments(moments, X, position.current, position.count, counts, standardizer.scale))
    if len(parts) > 1 and not all(_has_length(value, len(X)) for value in (*targets, *given.values())):
        parts = [Segment(0, len(X), None, 0)]  # refused by the learner, which names what is wrong
    return _Plan(parts, moments, counts, weights, given)


def _call(
    learner: Learner, verb: str, rows: Array, targets: Sequence[Any], given: Mapping[str, Any]
) -> tuple[Any, Warning | None]:
    """What the method returned, and a warning that is an error and came after the rows were learned."""
    seen = learner.n_samples_seen_
    try:
        return getattr(learner, verb)(rows, *targets, **given), None
    except Warning as warning:
        if learner.n_samples_seen_ == seen:
            raise
        return None, warning


def _predicted(learner: Learner, rows: Array) -> Any:
    """The predictions that `prequential` returns, for rows of which none has been learned yet."""
    score = getattr(learner, "decision_function" if learner.method.traits.labels else "predict")
    return score(Intercept().transform(rows))


def _with_all_classes(predicted: Any, learner: Learner) -> Any:
    """Scores, with a column added for a class that was new in their row; other predictions are unchanged."""
    if not learner.method.traits.labels or learner.live_state is None:
        return predicted
    return _widened(predicted, len(learner.live_state.classes), learner.rule.namespace)


def _return(learner: Learner, state: LearnerState | None, position: Position) -> Position:
    """Restore a state and its position, without the pending rows, which were part of the refused step."""
    if state is not learner.live_state:
        if state is not None:
            learner.rule.discard_refused_step(state, 0)
        learner.live_state = state
    return position


def _error_of_call(
    error: Exception, learner: Learner, verb: str, shape: tuple[int, ...], targets: Sequence[Any], given: dict[str, Any]
) -> Exception:
    """The error for arguments that come with the rows, with row numbers of the call instead of a part of it."""
    try:
        getattr(learner.copy(), verb)(np.zeros(shape, learner.dtype), *targets, **given)
    except Exception as found:
        return found if type(found) is type(error) else error
    return error


def _calls(parts: Sequence[Segment], learner: Learner) -> Iterator[tuple[Segment, bool]]:
    """The parts, and whether the prior moves after each; if it might, the first row is a part of its own."""
    has_prior = _has_exact_merge(learner)
    for part in parts:
        start, stop, move, number = part
        may_move_prior = number <= SETTLED and move is not None and has_prior
        moves_prior = number in PRIOR_MOVES and may_move_prior
        if may_move_prior and stop > start + 1:
            yield Segment(start, start + 1, move, number), moves_prior
            yield Segment(start + 1, stop, None, number), False
        else:
            yield part, moves_prior


def _has_exact_merge(learner: Learner) -> bool:
    """Whether the rows and the prior of a learner can be separated."""
    how = learner.method.combine.merge
    return how is not None and how.kind == "exact"


def _has_length(value: Any, rows: int) -> bool:
    try:
        return len(value) == rows
    except TypeError:  # a number has no length
        return False


def _cut(
    targets: Sequence[Any], given: Mapping[str, Any], start: int, stop: int
) -> tuple[Sequence[Any], dict[str, Any]]:
    """The targets and arguments of some of the rows."""
    named = {name: part_of(value, start, stop) for name, value in given.items()}
    return [part_of(value, start, stop) for value in targets], named


def part_of(value: Any, start: int, stop: int) -> Any:
    """The entries of some rows of an array, a list, or a table of pandas, polars, Arrow or xarray."""
    if hasattr(value, "iloc"):
        return value.iloc[start:stop]
    if hasattr(value, "slice") and not isinstance(value, np.ndarray):
        return value.slice(start, stop - start)
    return value[start:stop]


def _joined(found: Sequence[Any], learner: Learner) -> Any:
    """The predictions of all parts; scores of classes that were not known yet are zero, as in one call."""
    if len(found) == 1:
        return found[0]
    xp: Any = learner.rule.namespace
    width = max(a.shape[-1] for a in found) if found[0].ndim > 1 else 0
    padded = [a if a.ndim < 2 or a.shape[-1] == width else _widened(a, width, xp) for a in found]
    return xp.concat(padded)


def _widened(a: Any, width: int, xp: Any) -> Any:
    return xp.concat([a, xp.zeros((a.shape[0], width - a.shape[1]), dtype=a.dtype)], axis=1)
