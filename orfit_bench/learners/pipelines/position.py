"""The coordinates in which a learner keeps its state, and how the state changes when they move."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from orfit_bench.learners.learner import Learner
from orfit_bench.learners.merging import merged
from orfit_bench.learners.pipelines.coordinates import Coordinates, refuse_overflow
from orfit_bench.learners.pipelines.saved_values import check_keys
from orfit_bench.learners.pipelines.standardizer import Standardizer
from orfit_bench.learners.pipelines.transforms import Intercept, Transform
from orfit_bench.state import coordinates as states
from orfit_bench.state.state import LearnerState

Array = np.ndarray[Any, Any]

PRIOR_MOVES = (8, 64)
"""The numbers of rows after which the prior moves to the present moments; after the last one it no longer moves."""
SETTLED = PRIOR_MOVES[-1]
GROWTH = 64
"""Before row SETTLED, the prior also moves if the spread of a column exceeds that of the prior by this factor."""


def refusal(transforms: Sequence[Transform], learner: Learner) -> str:
    """Why the state of a learner cannot follow the moments of a standardizer; empty if it can, or need not."""
    kinds = [type(t) for t in transforms]
    if Standardizer not in kinds:
        return ""
    if kinds != [Standardizer, Intercept]:
        return (
            "without an intercept behind the only standardizer, no weight takes up the shift of the means: "
            'ob.pipeline("standardize", "intercept", learner)'
        )
    return states.refusal(learner.rule)


def standardizer_of(transforms: Sequence[Transform]) -> Standardizer:
    """The first step of a pipeline whose learner follows its moments."""
    first = transforms[0]
    assert isinstance(first, Standardizer)  # by `refusal`
    return first


@dataclass(frozen=True)
class Position:
    """The coordinates of a learner's state and of its prior; None before the first row."""

    current: Coordinates | None = None
    prior: Coordinates | None = None
    count: int = 0
    """Number of rows learned, without those of weight 0 and those unlearned."""

    def after(self, counts: Array) -> Position:
        """The position after further rows, of which `counts` marks those that count."""
        return replace(self, count=self.count + int(counts.sum()))

    def rows(self, X: Array, standardizer: Standardizer) -> Array:
        """Rows (n, d) in the coordinates; columns that have not varied have the spread that the row gives them."""
        if self.current is None:
            return np.zeros_like(X)
        spreads = self.current.spread
        if not self.current.varied.all():
            spreads = np.where(self.current.varied, spreads, standardizer.next_moments(X)[1])
        with np.errstate(over="ignore"):
            found = np.asarray((X - self.current.center) / spreads)
        refuse_overflow(X, found)
        return found

    def moved(self, learner: Learner, to: Coordinates) -> Position:
        """The position after a move, which changes the state of the learner but no prediction."""
        if self.current is None or self.prior is None:
            return replace(self, current=to, prior=to)
        state = learner.live_state
        if state is not None:
            change = self.current.with_spread(self.current, to).to(to)
            learner.live_state = states.expressed(learner.rule, state, change)
        return replace(self, current=to, prior=self.prior.with_spread(self.current, to))

    def moved_with_prior(self, learner: Learner, to: Coordinates) -> tuple[LearnerState, Position] | None:
        """The state and the position after a move of the prior too; None if the prior need not move, or cannot.

        The prior must move if nearly equal first readings have made it narrow: after the move it would be so vague that
        the next rows would leave few digits of the state. Rows and prior are separated in the coordinates of the prior,
        in which it is not vague. The prior cannot move when a column varies for the first time, since the rows before
        the move do not have the new spread.
        """
        state = learner.live_state
        if state is None or self.current is None or self.prior is None:
            return None
        before, prior = self.current, self.prior.with_spread(self.current, to)
        if (to.varied != before.varied).any() or not (to.spread > GROWTH * prior.spread).any():
            return None
        with suppress(ValueError):  # too few digits are left to separate it from the rows
            here = states.expressed(learner.rule, state, before.to(prior))
            there = states.with_new_prior(learner.rule, here, prior.to(prior), to.to(prior))
            found = states.expressed(learner.rule, there, prior.to(to))
            return found, replace(self, current=to, prior=to)
        return None

    def reset_prior(self, learner: Learner) -> Position:
        """The position with the prior in the present coordinates, as if it had been there since the first row."""
        state = learner.live_state
        if state is None or self.current is None or self.prior is None or self.prior is self.current:
            return self
        try:
            learner.live_state = states.with_new_prior(learner.rule, state, self.prior.to(self.current))
        except ValueError:  # too few digits are left to separate the prior from the rows: it stays where it is
            return self
        return replace(self, prior=self.current)

    def merged(self, learner: Learner, other: Learner, there: Position, to: Coordinates) -> Position:
        """The position of a learner merged with another one, in the coordinates of the rows of both."""
        a, b = learner.copy(), other.copy()
        here, there = self.moved(a, to), there.moved(b, to)
        assert there.prior is not None  # both have learned rows
        change = there.prior.to(to)
        learner.live_state = merged(
            a.rule, a.live_state, b.rule, b.live_state, lambda start: states.fields_in(b.rule, start, change)
        )
        if learner.live_state:
            learner.rule.warn_of_lost_precision(learner.live_state)
        both = replace(here, count=here.count + there.count)
        return both if here.count >= SETTLED else both.reset_prior(learner)

    def to_dict(self) -> dict[str, Any]:
        """The position as JSON values, which `from_dict` reads."""
        return {
            "current": None if self.current is None else self.current.to_dict(),
            "prior": None if self.prior is None else self.prior.to_dict(),
            "count": self.count,
        }

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Position:
        """The position that `to_dict` saved."""
        check_keys(saved, {"current", "prior", "count"})
        current, prior = (None if saved[k] is None else Coordinates.from_dict(saved[k]) for k in ("current", "prior"))
        count = saved["count"]
        if type(count) is not int or count < 0:
            raise ValueError(f"count: got {count!r}, want an integer of at least 0")
        if (current is None) != (prior is None):
            raise ValueError("it has coordinates of the state or of the prior, want both or none")
        return cls(current, prior, count)
