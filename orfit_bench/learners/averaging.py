"""Averaging of learners: all of them get the mean of their weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack

import numpy as np

from orfit_bench.learners.learner import Learner
from orfit_bench.learners.permits import take
from orfit_bench.state import merging

MAX_EXACT = 2.0**53
"""Largest count up to which a float holds every integer."""


def average(learners: Iterable[Learner], rows: Sequence[int] | None = None) -> None:
    """Give all learners the mean of their weights: a round of distributed learning.

    Parameters
    ----------
    learners : iterable of learners
        They are changed in place; each keeps its own step count.
    rows : sequence of int, optional
        Weight of each learner in the mean, usually the number of rows that it has learned since the last average.
        Default: equal weights.

    Raises
    ------
    ValueError
        If they differ in method, settings, dtype, backend or sizes, if rows are pending, if the method declares no
        average, or if `rows` does not give each learner a finite number >= 0, with one above 0.
    TypeError
        If one of them is not a learner.
    RuntimeError
        If another thread is learning, or an exception interrupted a kernel, so that a state cannot be trusted.

    Notes
    -----
    Use `average` between rounds of learners that continue to learn, `merge` for learners that are finished, and
    `orfit_bench.learn` if the rows are in parts already. Source: Krasulina paper, eq. (18).

    Examples
    --------
    >>> import orfit_bench as ob
    >>> a, b = (ob.create("lms", backend="numpy", step_size=0.5).partial_fit([[1.0]], [y]) for y in (2.0, 4.0))
    >>> a.predict([[1.0]]), b.predict([[1.0]])
    (array([1.]), array([2.]))
    >>> ob.average([a, b])
    >>> a.predict([[1.0]]), b.predict([[1.0]])
    (array([1.5]), array([1.5]))
    """
    if not isinstance(learners, Iterable) or hasattr(learners, "members"):  # a fleet, which yields copies
        raise TypeError(f"average: got {type(learners).__name__}, want a list of learners")
    learners = list(learners)
    if not learners:
        raise ValueError("average: got no learners, want at least one")
    if strange := [type(a).__name__ for a in learners if not isinstance(a, Learner)]:
        raise TypeError(f"average: got {strange[0]}, want a list of learners")
    counts = [1.0] * len(learners) if rows is None else _counts(rows, len(learners))
    with ExitStack() as permits:
        for learner in {id(a): a for a in learners}.values():
            take(learner.permit)
            permits.callback(learner.permit.append, None)
        _average(learners, counts)


def _counts(rows: Sequence[int], size: int) -> list[float]:
    """How much each learner counts; above MAX_EXACT relative to the largest, so that no sum overflows."""
    wrong = f"average: got rows={rows}, want {size} numbers >= 0, with one above 0, all finite"
    try:
        counts = np.array([float(n) for n in rows])
    except (TypeError, ValueError, OverflowError):
        raise ValueError(wrong) from None
    if len(counts) != size or not (np.isfinite(counts).all() and counts.min() >= 0 and counts.any()):
        raise ValueError(wrong)
    if (counts == counts[0]).all():
        return [1.0] * size
    if counts.max() > MAX_EXACT:
        counts /= counts.max()
    return [float(n) for n in counts]


def _average(learners: Sequence[Learner], counts: Sequence[float]) -> None:
    first = learners[0]
    if not first.method.combine.averages:
        raise ValueError(
            f"{first.method.name}: an average of its states is not defined{merging.alternative(first.method)}"
        )
    states = [learner.live_state for learner in learners]
    for other, state in zip(learners, states, strict=True):
        merging.check_alike("average", first.rule, other.rule)
        merging.check_states_alike("average", states[0], state, labels=False)
        if other.backend != first.backend:
            raise ValueError(f"average: the learners differ in backend: {first.backend.name} and {other.backend.name}")
        if (state is None) != (states[0] is None):
            raise ValueError("average: the learners differ in features: one of them has seen no rows")
        if state and states[0] and state.classes != states[0].classes:
            raise ValueError(f"average: the learners differ in classes: {states[0].classes} and {state.classes}")
    if not states[0]:
        return
    means = merging.mean([a.rule for a in learners], [state for state in states if state], counts)
    for learner, state in zip(learners, means, strict=True):
        state.permit = learner.permit
        learner.live_state = state
