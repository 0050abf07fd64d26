"""Interleaved timing of two commits, continued until it is clear whether they differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from orfit_bench.tracking.commit_process import CommitProcess, MeasureError
from orfit_bench.tracking.comparison import Key

SPEND = 0.03
"""Seconds spent on one measurement, which has at least two runs."""
LEAST_TURNS, MOST_TURNS = 4, 16
Timer = Callable[[], tuple[list[float], float]]
"""Returns the seconds of one or more quantities, and those of the reference workload at that moment."""


def time_in_turns(timers: Sequence[Timer], tolerances: Sequence[float], least: int = LEAST_TURNS) -> list[Any]:
    """Call two timers in turns until it is clear for every quantity whether they differ.

    Parameters
    ----------
    timers : sequence of two callables
        One timer per commit.
    tolerances : sequence of float
        For each quantity, the relative change that is ignored.
    least : int
        Minimum number of turns before a decision; the last turn is number `MOST_TURNS`.

    Returns
    -------
    list
        For each timer, the minimum seconds of each quantity, or the error that ended it. The seconds are normalized by
        the reference workload to the highest speed of the machine.
    """
    taken: list[list[list[float]]] = [[] for _ in timers]
    references: list[list[float]] = [[] for _ in timers]
    errors: dict[int, MeasureError] = {}
    for turn in range(MOST_TURNS):
        for i in sorted(set(range(len(timers))) - set(errors), reverse=bool(turn % 2)):
            try:
                seconds, reference = timers[i]()
            except MeasureError as error:
                errors[i] = error
            else:
                taken[i].append(seconds)
                references[i].append(reference)
        if errors or (turn + 1 >= least and _is_decided(taken, references, tolerances)):
            break
    fastest = min((min(times) for times in references if times), default=0.0)
    return [
        errors.get(i) or [min(times) * fastest / min(references[i]) for times in zip(*taken[i], strict=True)]
        for i in range(len(timers))
    ]


def _is_decided(
    taken: Sequence[Sequence[Sequence[float]]], references: Sequence[Sequence[float]], tolerances: Sequence[float]
) -> bool:
    """Whether the minimum times and the pairs of a turn agree on a change or on no change, for every quantity."""
    scale = math.log(min(references[0]) / min(references[1]))
    for quantity, tolerance in enumerate(tolerances):
        base, head = ([times[quantity] for times in side] for side in taken)
        least = math.log(min(head) / min(base)) + scale
        typical = median(math.log(h / b) + math.log(r / q) for b, h, r, q in zip(base, head, *references, strict=True))
        changes, limit = sorted((abs(least), abs(typical))), math.log1p(tolerance)
        same = changes[1] < limit / 2
        if not same and not (least * typical > 0 and changes[0] > limit):
            return False
    return True


def make_timer(process: CommitProcess, job: str, key: Key) -> Timer:
    """Return the timer of a job in a process: a job of learners, or the start of an interpreter."""

    def measure() -> tuple[list[float], float]:
        answer = process.ask(job, *key, SPEND) if key[0] else process.ask(job, 1)
        seconds = [float(value) for value in (answer if isinstance(answer, list) else [answer])]
        if min(seconds) <= 0:
            raise MeasureError(f"{job}: a time of {min(seconds):g} s cannot be compared")
        return seconds, float(process.ask("reference"))

    return measure
