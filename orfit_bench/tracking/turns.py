"""Measuring in turns, so that what the machine does meanwhile falls on both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from orfit_bench.tracking.finding import Key
from orfit_bench.tracking.side import MeasureError, Side

SPEND = 0.03
"""Seconds spent on one turn of a measure, or two runs of it."""
Clock = Callable[[], tuple[float, float]]
"""Says its seconds, and those of the reference workload beside it."""


def in_turns(clocks: Sequence[Clock], rounds: int) -> list[Any]:
    """The least seconds of each clock over rounds in which they take turns, or the error that ended it.

    All are given as if the machine had been as fast for each as it was, by the reference workload, for the fastest.
    """
    taken: list[list[float]] = [[] for _ in clocks]
    beside: list[list[float]] = [[] for _ in clocks]
    errors: dict[int, MeasureError] = {}
    for turn in range(rounds):
        for i in sorted(set(range(len(clocks))) - set(errors), reverse=bool(turn % 2)):
            try:
                seconds, reference = clocks[i]()
            except MeasureError as error:
                errors[i] = error
            else:
                taken[i].append(seconds)
                beside[i].append(reference)
    usual = min((min(times) for times in beside if times), default=0.0)
    return [errors[i] if i in errors else min(taken[i]) * usual / min(beside[i]) for i in range(len(clocks))]


def clock(side: Side, metric: str, key: Key) -> Clock:
    """The clock of a measure on a side."""
    return lambda: (float(side.ask(metric, *key, SPEND)), float(side.ask("reference")))
