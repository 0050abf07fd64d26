"""Many learners by one call, on as many threads as the user allows: compiled functions release the GIL.

The compiled functions of fleets take members begin to end of a call. Each calls the helpers of the kernel of one
learner for the rows of a member, so that no rule is written twice.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array, Indices
from orfit_bench_numba._threads import allowed_threads

MIN_OPERATIONS = 1e6
"""Operations of a call below which starting a thread takes longer than it saves: about 0.1 ms."""


def on_threads(act: Callable[[int, int], Any], count: int, operations: float) -> None:
    """Call act(begin, end) for consecutive parts of `count` members, each on a thread of its own."""
    threads = min(allowed_threads() if operations > MIN_OPERATIONS else 1, max(count, 1))
    parts = [(count * k // threads, count * (k + 1) // threads) for k in range(threads)]
    failures: list[BaseException] = []
    others = [Thread(target=_note_failure, args=(act, begin, end, failures)) for begin, end in parts[1:]]
    for thread in others:
        thread.start()
    _note_failure(act, *parts[0], failures)
    for thread in others:
        thread.join()
    if failures:
        raise failures[0]


def _note_failure(act: Callable[[int, int], Any], begin: int, end: int, failures: list[BaseException]) -> None:
    """Call act(begin, end); an exception is noted, so that no thread is left running."""
    try:
        act(begin, end)
    except BaseException as error:
        failures.append(error)


def learn_all(
    advance: Callable[[Indices, Indices], None], learn: Any, s: Any, X: Array, Y: Array, p: Any, out: Array | None
) -> Indices:
    """Learn the rows of members by compiled code; a row that it leaves, by `learn` of the member alone.

    advance(places, learned) goes on from row learned[j] of members[j], for each j of `places`, as far as it can.
    """
    learned, counts = np.zeros(len(p.members), np.int64), np.diff(p.starts)
    places = np.flatnonzero(counts)
    while len(places):
        advance(places, learned)
        left = places[learned[places] < counts[places]]
        went_on = [_learn_row(learn, s, X, Y, p, out, int(j), int(learned[j])) for j in left]
        places = left[np.array(went_on, bool)]
        learned[places] += 1
        places = places[learned[places] < counts[places]]
    return learned


def _learn_row(learn: Any, s: Any, X: Array, Y: Array, p: Any, out: Array | None, j: int, k: int) -> bool:
    """Learn row k of members[j] by the kernel of one learner."""
    row, i = slice(int(p.starts[j]) + k, int(p.starts[j]) + k + 1), int(p.members[j])
    one = type(s)(*(a[i, ...] for a in s))
    return bool(learn(one, X[row], Y[row], p.of(j).at(k), None if out is None else out[row]) == 1)
