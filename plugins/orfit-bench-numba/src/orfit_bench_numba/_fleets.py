"""Many learners in one call, on the number of threads that the user allows; compiled functions release the GIL.

The compiled functions of fleets process the members begin to end of a call. For the rows of a member they call the
helpers of the kernel for a single learner, so no rule is written twice.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any

import numpy as np

from orfit_bench.kernels.threads import allowed_threads
from orfit_bench_numba._arrays import Array, Indices

MIN_OPERATIONS = 1e6
"""With fewer operations per call, starting a thread (about 0.1 ms) costs more than it saves."""


def by_output(weights: Array, members: Indices) -> Array:
    """Weights (N, d, c) in the order (N, c, d) for some members; the entries of others are undefined.

    With one output it is the same memory. Otherwise `store_by_output` writes the weights back.
    """
    turned = weights.transpose(0, 2, 1)
    if weights.shape[2] == 1 or len(members) == len(weights):
        return np.ascontiguousarray(turned)
    found: Array = np.empty(turned.shape, weights.dtype)
    found[members] = turned[members]
    return found


def store_by_output(weights: Array, turned: Array, members: Indices) -> None:
    """Write weights (N, c, d) of some members, which `by_output` returned, back to weights (N, d, c)."""
    if np.may_share_memory(weights, turned):
        return
    chosen = slice(None) if len(members) == len(weights) else members
    weights[chosen] = turned[chosen].transpose(0, 2, 1)


def on_threads(act: Callable[[int, int], Any], count: int, operations: float) -> None:
    """Call act(begin, end) for consecutive parts of `count` members, each on a separate thread."""
    threads = min(useful_threads(operations), max(count, 1))
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


def useful_threads(operations: float) -> int:
    """The number of threads for a call with this number of operations."""
    return allowed_threads() if operations > MIN_OPERATIONS else 1


def _note_failure(act: Callable[[int, int], Any], begin: int, end: int, failures: list[BaseException]) -> None:
    """Call act(begin, end) and store an exception, so that no thread is left running."""
    try:
        act(begin, end)
    except BaseException as error:
        failures.append(error)
