"""Rows that are unlearned: subtracted from the sums of a state, with the digits that are left (docs/decisions/0048)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.spec.arrays import diagonal, to_host
from orfit_bench.spec.backend import Array
from orfit_bench.state.state import LearnerState, Subtrahend

if TYPE_CHECKING:
    from orfit_bench.learners.configuration import Configuration
    from orfit_bench.learners.rule import Rule

HostArray = np.ndarray[Any, Any]
MOST_ERROR = 0.01
"""The largest relative error of a sum of squares; of one with a larger error, only rounding is left."""


def unlearn(rule: Rule, state: LearnerState, names: tuple[str, ...], add: Callable[[], object]) -> None:
    """Subtract rows from the sums of these names: `add` adds them to the negative sums, which are negated again.

    The first sum is a Gram matrix. Columns of which only rounding is left become those of the start, which
    `state.notice` says. ValueError if a sum of squares would become negative; the state is no longer of use then.
    """
    sums, eps = [getattr(state.arrays, name) for name in names], float(np.finfo(rule.dtype).eps)
    before = Subtrahend(_squares(sums[0], rule), state.n_steps)
    _negate(sums)
    try:
        add()
    finally:  # where a row is refused, those before it are unlearned
        _negate(sums)
    left, largest = _squares(sums[0], rule), _largest(rule, state, before)
    if (left < -(eps**0.5) * largest).any():
        raise ValueError(
            f"sample_weight: the rows of negative weight take more from {rule.method.name} than it has learned; "
            f"unlearn only rows that were learned, with the weights they had"
        )
    gone = (largest > 0) & (left < eps / MOST_ERROR * largest)
    state.subtrahend = Subtrahend(np.where(gone, 0, largest), state.n_steps)
    if gone.any() and len(rounded := np.flatnonzero(gone & _forget_columns(rule, state, names, gone))):
        state.notice = (
            f"rows of negative weight leave only rounding in column {', '.join(map(str, rounded))}, which counts as "
            f"never seen now; rows that were learned before must not be unlearned any more, so if some of them have "
            f"other entries than 0 there, let a new learner learn what is to stay"
        )


def share_left(rule: Configuration, state: LearnerState) -> float:
    """The least share of a sum of squares that is left of what rows were unlearned from, 1 if none were."""
    if state.subtrahend is None or rule.method.kernel.weighting is None:
        return 1.0
    largest = _decayed(rule, state, state.subtrahend)
    left = _squares(getattr(state.arrays, rule.method.kernel.weighting.sums[0]), rule)[: len(largest)]
    return float(np.divide(left, largest, out=np.ones_like(largest), where=largest > 0).min(initial=1))


def _negate(arrays: list[Array]) -> None:
    for a in arrays:
        a *= -1


def _squares(gram: Array, rule: Configuration) -> HostArray:
    """A copy of the diagonal of a Gram matrix in host memory."""
    return np.array(to_host(diagonal(gram, rule.namespace)).real, float)


def _largest(rule: Configuration, state: LearnerState, before: Subtrahend) -> HostArray:
    """The larger ones of the sums of squares of this call and of earlier ones, as they would be now."""
    largest = _decayed(rule, state, before)
    if state.subtrahend is None:
        return largest
    earlier = _decayed(rule, state, state.subtrahend)
    return np.asarray(np.maximum(largest, np.pad(earlier, (0, len(largest) - len(earlier)))))  # of later columns 0


def _decayed(rule: Configuration, state: LearnerState, of: Subtrahend) -> HostArray:
    """The sums of squares as they would be now."""
    return np.asarray(_kept(rule, state.n_steps - of.n_steps) * of.squares)


def _kept(rule: Configuration, steps: int) -> float:
    """What is left of a sum after so many steps; with a factor above 1 the sums are divided by it, so all."""
    return min(float(rule.settings.get("forgetting_factor", 1)), 1.0) ** steps


def _forget_columns(rule: Rule, state: LearnerState, names: tuple[str, ...], gone: HostArray) -> HostArray:
    """Make columns (p,) of the sums those of the start; returns which of them differed from it."""
    start, changed = rule.init(state.sizes).arrays, np.zeros(len(gone), bool)
    for name in names:
        array = getattr(state.arrays, name)
        values, first = to_host(array).copy(), _kept(rule, state.n_steps) * to_host(getattr(start, name))
        for of_rows, of_start in ((values, first), (values.T, first.T))[: 1 + (name == names[0])]:
            changed |= (of_rows != of_start).any(axis=1)
            of_rows[gone] = of_start[gone]
        array[...] = rule.place(values)
    return changed
