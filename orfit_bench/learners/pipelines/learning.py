"""Rows of a call that are learned in parts, between which the coordinates move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.errors import DivergedError
from orfit_bench.learners.learner import Learner
from orfit_bench.learners.pipelines.coordinates import Coordinates
from orfit_bench.learners.pipelines.moves import Segment
from orfit_bench.learners.pipelines.part_predictions import join, predict_rows, with_all_classes
from orfit_bench.learners.pipelines.parts import Plan, cut_arguments, has_exact_merge, make_plan, small_parts
from orfit_bench.learners.pipelines.position import SETTLED, Position
from orfit_bench.learners.pipelines.standardizer import Standardizer
from orfit_bench.learners.pipelines.transforms import Intercept

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
    plan = make_plan(learner, standardizer, position, X, targets, given)
    call = _Call(learner, standardizer, position, verb, X, targets, plan)
    backup = None if [part.move for part in plan.parts] == [None] else learner.copy()
    seen = learner.n_samples_seen_
    try:
        try:
            for part, moves_prior in small_parts(plan.parts, learner):
                call.learn_part(part, moves_prior)
        except DivergedError as error:
            return call.stop(error)
    except BaseException as error:
        if backup is not None:
            learner.live_state = backup.live_state
            if (found := call.in_rows_of_the_call(error)) is not error:
                raise found from None
        elif learner.n_samples_seen_ != seen:
            return call.end(error)
        raise
    return call.end()


class _Call:
    """A call whose rows are learned in parts; `position` is where the state of the learner is expressed."""

    def __init__(
        self,
        learner: Learner,
        standardizer: Standardizer,
        position: Position,
        verb: str,
        X: Array,
        targets: Sequence[Any],
        plan: Plan,
    ) -> None:
        self._learner, self._standardizer, self._verb = learner, standardizer, verb
        self._X, self._targets, self._plan = X, targets, plan
        self.position = position
        self._start, self._width = 0, 0
        """The first row of the part that is learned, and the number of columns that the learner gets."""
        self._before = learner.live_state, position
        """The state and its position before the part that is learned."""
        self._found: list[Any] = []
        self._warning: Warning | None = None

    def learn_part(self, part: Segment, moves_prior: bool) -> None:
        """Move the coordinates if the part says so, and learn its rows; then move the prior with `moves_prior`."""
        learner, (start, stop, move, number) = self._learner, part
        self._start, self._before = start, (learner.live_state, self.position)
        predicted = wider = None
        if move is not None and number < SETTLED and has_exact_merge(learner):
            wider = self.position.moved_with_prior(learner, move)
        if wider is not None:
            if self._verb == "prequential":
                predicted = predict_rows(learner, self.position.rows(self._X[start:stop], self._standardizer))
            learner.live_state, self.position = wider
        elif move is not None:
            self._move(move)
        rows = Intercept().transform(self.position.rows(self._X[start:stop], self._standardizer))
        self._width = rows.shape[1]
        answer = self._learn(rows, "partial_fit" if predicted is not None else self._verb, start, stop)
        self._found.append(answer if predicted is None else with_all_classes(predicted, learner))
        if moves_prior:
            self.position = self.position.reset_prior(learner)

    def _move(self, to: Coordinates) -> None:
        """Move to the coordinates of the rows up to the first of the part; ValueError if the state cannot follow."""
        try:
            self.position = self.position.moved(self._learner, to)
        except ValueError as error:
            raise ValueError(
                f"X, row {self._start}: the state of {self._learner.method.name} cannot follow the mean and the spread "
                f"of the columns after this row ({error}): drop or clip the row, or scale the columns"
            ) from error

    def _learn(self, rows: Array, verb: str, start: int, stop: int) -> Any:
        """What the method returned; a warning that is an error and came after the rows were learned is kept."""
        targets, given, learner = self._targets, self._plan.given, self._learner
        if len(rows) < len(self._X):
            targets, given = cut_arguments(targets, given, start, stop)
        seen = learner.n_samples_seen_
        try:
            return getattr(learner, verb)(rows, *targets, **given)
        except Warning as warning:
            if learner.n_samples_seen_ == seen:
                raise
            self._warning = self._warning or warning
            return None

    def stop(self, error: DivergedError) -> Learned:
        """The result if a row was refused: the rows before it are learned."""
        learner, row = self._learner, self._start + error.row
        if error.row == 0:  # the coordinates moved to a row that was refused
            self._undo_move()
        weights = self._plan.weights
        reached = self._standardizer.moments(self._X[:row], None if weights is None else weights[:row]).after
        diverged = learner.rule.divergence(error.step, row, is_scaled=self._standardizer.scale)
        return Learned(reached, self.position.after(self._plan.counts[:row]), error=diverged)

    def _undo_move(self) -> None:
        """Restore the state before the part, without the pending rows, which were part of the refused step."""
        state, self.position = self._before
        if state is not self._learner.live_state:
            if state is not None:
                self._learner.rule.discard_refused_step(state, 0)
            self._learner.live_state = state

    def end(self, error: BaseException | None = None) -> Learned:
        """The result after all rows, with an error that came after they were learned."""
        error = error or self._warning
        returns = error is None and self._verb == "prequential"
        found = join(self._found, self._learner) if returns else None
        return Learned(self._plan.moments.after, self.position.after(self._plan.counts), found, error)

    def in_rows_of_the_call(self, error: BaseException) -> BaseException:
        """The error for arguments that come with the rows, with row numbers of the call instead of a part of it."""
        if not self._width or not isinstance(error, (TypeError, ValueError)):
            return error
        rows = np.zeros((len(self._X), self._width), self._learner.dtype)
        try:
            getattr(self._learner.copy(), self._verb)(rows, *self._targets, **self._plan.given)
        except Exception as found:
            return found if type(found) is type(error) else error
        return error
