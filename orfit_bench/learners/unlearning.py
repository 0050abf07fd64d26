"""Unlearning: rows are subtracted from the sums of a state, while enough digits are left (docs/decisions/0048)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.spec.arrays import diagonal, to_host
from orfit_bench.spec.backend import Array
from orfit_bench.state.state import LearnerState, Minuend, larger_squares

if TYPE_CHECKING:
    from orfit_bench.learners.configured_kernel import ConfiguredKernel
    from orfit_bench.learners.rule import Rule

HostArray = np.ndarray[Any, Any]
MOST_ERROR = 0.01
"""The largest relative error of a sum of squares; a sum with a larger error counts as rounding only."""


def unlearn(rule: Rule, state: LearnerState, add: Callable[[], object]) -> None:
    """Subtract rows from the sums of the state: `add` adds them to the negative sums, which are negated again.

    Columns of the Gram matrix in which only rounding is left are reset to the start; `state.notice` names them.
    Raises ValueError, and leaves a state that must be discarded, if a sum of squares would become negative.
    """
    gram, sums = _gram(rule), [getattr(state.arrays, name) for name in _sums(rule)]
    before = Minuend(_squares(getattr(state.arrays, gram), rule), state.n_steps) if gram else None
    _negate(sums)
    try:
        add()
    finally:  # if a row is refused, those before it are unlearned
        _negate(sums)
    if before:
        _judge_squares(rule, state, gram, before)


def _judge_squares(rule: Rule, state: LearnerState, gram: str, before: Minuend) -> None:
    """Keep the largest sums of squares before a subtraction, and reset the columns in which only rounding is left."""
    eps = float(np.finfo(rule.dtype).eps)
    left, largest = _squares(getattr(state.arrays, gram), rule), _decayed(rule, state, before)
    if state.minuend:
        largest = larger_squares(largest, _decayed(rule, state, state.minuend))
    if (left < -(eps**0.5) * largest).any():
        raise ValueError(
            f"sample_weight: the rows of negative weight take more from {rule.method.name} than it has learned; "
            f"unlearn only rows that were learned, with the weights they had, times ff^k in the k-th step after them"
        )
    gone = (largest > 0) & (left < eps / MOST_ERROR * largest)
    state.minuend = Minuend(np.where(gone, 0, largest), state.n_steps)
    if not gone.any():
        return
    rounded = np.flatnonzero(gone & _forget_columns(rule, state, gram, gone))
    if len(rounded):
        state.notice = (
            f"rows of negative weight leave only rounding in column {', '.join(map(str, rounded))}, which counts as "
            f"never seen now; rows that were learned before must not be unlearned any more, so if some of them have "
            f"other entries than 0 there, train a new learner on the rows to keep"
        )


def share_left(rule: ConfiguredKernel, state: LearnerState) -> float:
    """The smallest ratio of a present sum of squares to that before rows were unlearned; 1 if none was."""
    if state.minuend is None:
        return 1.0
    largest = _decayed(rule, state, state.minuend)
    left = _squares(getattr(state.arrays, _gram(rule)), rule)[: len(largest)]
    return float(np.divide(left, largest, out=np.ones_like(largest), where=largest > 0).min(initial=1))


def _gram(rule: ConfiguredKernel) -> str:
    """The sum that is a Gram matrix of the rows; empty if there is none."""
    fields = (f for f in rule.method.state.fields if f.name in _sums(rule))
    return next((f.name for f in fields if len(f.dims) == 2 and f.dims[0] == f.dims[1]), "")


def _sums(rule: ConfiguredKernel) -> tuple[str, ...]:
    """The fields that are sums over the rows."""
    return rule.method.kernel.weighting.sums if rule.method.kernel.weighting else ()


def _negate(arrays: list[Array]) -> None:
    for a in arrays:
        a *= -1


def _squares(gram: Array, rule: ConfiguredKernel) -> HostArray:
    """A copy of the diagonal of a Gram matrix in host memory."""
    return np.array(to_host(diagonal(gram, rule.namespace)).real, float)


def _decayed(rule: ConfiguredKernel, state: LearnerState, of: Minuend) -> HostArray:
    """Earlier sums of squares, after the forgetting since then."""
    return np.asarray(_kept(rule, state.n_steps - of.n_steps) * of.squares)


def _kept(rule: ConfiguredKernel, steps: int) -> float:
    """The share of a sum that is left after these steps: ff^steps, or 1 for a forgetting factor above 1."""
    return min(float(rule.settings.get("forgetting_factor", 1)), 1.0) ** steps


def _forget_columns(rule: Rule, state: LearnerState, gram: str, gone: HostArray) -> HostArray:
    """Reset columns (p,) of the sums to the start; returns which of them differed from it."""
    start, changed = rule.init(state.sizes).arrays, np.zeros(len(gone), bool)
    for name in _sums(rule):
        array = getattr(state.arrays, name)
        values, first = to_host(array).copy(), _kept(rule, state.n_steps) * to_host(getattr(start, name))
        changed |= (values != first).any(axis=1)
        values[gone] = first[gone]
        if name == gram:
            changed |= (values != first).any(axis=0)
            values[:, gone] = first[:, gone]
        array[...] = rule.place(values)
    return changed
