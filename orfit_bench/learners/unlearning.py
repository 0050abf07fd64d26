"""Rows that are unlearned: subtracted from the sums of a state, with the digits that are left (docs/decisions/0048)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from orfit_bench.learners.rule import Rule
from orfit_bench.spec.arrays import copy_of, diagonal, to_host
from orfit_bench.spec.backend import Array
from orfit_bench.state.state import LearnerState, Subtrahend

HostArray = np.ndarray[Any, Any]
MOST_ERROR = 0.01
"""The largest relative error of a sum of squares that is left."""


def unlearn(rule: Rule, state: LearnerState, names: tuple[str, ...], add: Callable[[], object]) -> bool:
    """Subtract rows from the sums of these names: `add` adds them to the negative sums, which are negated again.

    Returns whether half of the digits of the weights are lost. ValueError, and the sums are as they were, if a sum of
    squares would become negative, or keep too few digits.
    """
    sums, steps = [getattr(state.arrays, name) for name in names], state.n_steps
    before = [copy_of(a, rule.namespace) for a in sums]
    try:
        _negate(sums)
        add()
        _negate(sums)
        for after, was in zip(sums, before, strict=True):
            if after.ndim == 2 and after.shape[0] == after.shape[1]:
                squares, left = (to_host(diagonal(a, rule.namespace)).real for a in (was, after))
                return _loses_digits(rule, state, Subtrahend(squares, steps), left)
    except BaseException:
        for a, old in zip(sums, before, strict=True):
            a[...] = old
        raise
    return False


def _negate(arrays: list[Array]) -> None:
    for a in arrays:
        a *= -1


def _loses_digits(rule: Rule, state: LearnerState, before: Subtrahend, left: HostArray) -> bool:
    """Whether half of the digits are lost where sums of squares (p,) were larger than what is left of them.

    The largest ones from which rows were subtracted, in earlier calls too, are kept in the state, since their rounding
    errors stay. ValueError if one is negative beyond rounding, or rounding is more than 1 % of what is left.
    """
    eps, name = float(np.finfo(rule.dtype).eps), rule.method.name
    if (left < -(eps**0.5) * np.abs(before.squares)).any():
        raise ValueError(
            f"sample_weight: the rows of negative weight take more from {name} than it has learned; "
            f"unlearn only rows that were learned, with the weights they had"
        )
    largest = _decayed(rule, state, before)
    if state.subtrahend:
        earlier = _decayed(rule, state, state.subtrahend)
        largest = np.maximum(largest, np.pad(earlier, (0, len(largest) - len(earlier))))  # columns that came later
    shares = np.divide(left, largest, out=np.ones_like(largest), where=largest > 0)
    share = float(shares.min(initial=1))
    if share < eps / MOST_ERROR:
        raise ValueError(
            f"sample_weight: the rows of negative weight take nearly all from {name} that it has learned: what is left "
            f"has too few digits, in column {int(shares.argmin())} the fewest; let a new learner learn the other rows"
        )
    state.subtrahend = Subtrahend(largest, state.n_steps)
    precision = rule.kernel.solve(state.arrays)[1] if share < 0.5 and rule.method.state.solution else 1.0
    return bool(eps**0.5 > share * precision)


def _decayed(rule: Rule, state: LearnerState, of: Subtrahend) -> HostArray:
    """The sums of squares as they would be now."""
    kept = min(float(rule.settings.get("forgetting_factor", 1)), 1.0)
    return np.asarray(kept ** (state.n_steps - of.n_steps) * of.squares)
