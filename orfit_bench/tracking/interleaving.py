"""Interleaved timing, so that changes of the speed of the machine affect both commits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from orfit_bench.tracking.commit_process import CommitProcess, MeasureError
from orfit_bench.tracking.comparison import Key

SPEND = 0.03
"""Seconds spent on one measurement, which takes at least two runs."""
Timer = Callable[[], tuple[float, float]]
"""Returns the seconds of a measurement and those of the reference workload at that moment."""


def interleaved(timers: Sequence[Timer], rounds: int) -> list[Any]:
    """Call the timers in turns and return the least seconds of each, or the error that ended it.

    Parameters
    ----------
    timers : sequence of callable
        One timer per commit.
    rounds : int
        Number of calls of each timer.

    Returns
    -------
    list
        The seconds are normalized by the reference workload, to the speed of the machine at its fastest.
    """
    taken: list[list[float]] = [[] for _ in timers]
    references: list[list[float]] = [[] for _ in timers]
    errors: dict[int, MeasureError] = {}
    for turn in range(rounds):
        for i in sorted(set(range(len(timers))) - set(errors), reverse=bool(turn % 2)):
            try:
                seconds, reference = timers[i]()
            except MeasureError as error:
                errors[i] = error
            else:
                taken[i].append(seconds)
                references[i].append(reference)
    fastest = min((min(times) for times in references if times), default=0.0)
    return [errors[i] if i in errors else min(taken[i]) * fastest / min(references[i]) for i in range(len(timers))]


def timer(process: CommitProcess, metric: str, key: Key) -> Timer:
    """Return the timer of a quantity in a process."""
    return lambda: (float(process.ask(metric, *key, SPEND)), float(process.ask("reference")))
