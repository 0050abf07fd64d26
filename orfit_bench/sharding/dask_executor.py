"""Tasks on a cluster of Dask: tasks of lost workers run again, and unfinished tasks are cancelled when a call ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from orfit_bench.jobs.on_dask import AsFinished, ClusterLostError
from orfit_bench.sharding.dask_parts import begin_computed, holds_parts
from orfit_bench.sharding.executors import Task, death_error
from orfit_bench.tables.names import first_of

MAX_DEATHS_ON_CLUSTER = 12
"""Number of worker deaths after which a task that runs alone is given up: three times the default of Dask, since
workers are also lost by chance."""


class OnDask:
    """Runs tasks on a cluster of Dask, which replays those of lost workers and computes its own parts.

    A task whose workers died several times runs again when no other of these tasks is running. At the end of the
    context, also after an error or Ctrl-C, unfinished tasks are cancelled.

    Parameters
    ----------
    client : distributed.Client
        The connection to the cluster.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._waiting: set[Any] = set()
        """The futures of tasks that are not done."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._waiting and self._client.status == "running":
            self._client.cancel(list(self._waiting))
        self._waiting.clear()

    def map(self, task: Task, calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield the values in order. Each is fetched once computed, so that only running tasks are replayed."""
        given = dict(enumerate(calls))
        finished, values = self._finish(task, given), dict[int, Any]()
        for turn in range(len(given)):
            while turn not in values:
                number, value = next(finished)
                values[number] = value
            yield values.pop(turn)

    def _finish(self, task: Task, calls: dict[int, tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        """Yield number and value of each task as it finishes; tasks that Dask gave up are started again at the end."""
        from distributed import KilledWorker

        numbers = self._begin(task, calls)
        waiting = AsFinished(self._client, numbers, retries=0)
        given_up, deaths, alone = list[int](), Counter[int](), False
        ended_workers = dict.fromkeys(calls, False)
        """Whether workers died while they ran a task, for each task that has no value yet."""
        for future, value in _until_lost(waiting, ended_workers):
            number = numbers.pop(future)
            self._waiting.discard(future)
            future.release()  # Dask recomputes a lost value as long as its future is held
            if isinstance(value, KilledWorker):
                if alone:
                    deaths[number] += value.allowed_failures + 1
                if deaths[number] >= MAX_DEATHS_ON_CLUSTER:
                    raise death_error(number, deaths[number], "worker", f"the last one was {value.last_worker.address}")
                given_up.append(number)
                ended_workers[number] = True
            elif isinstance(value, Exception):
                raise _with_place(value, number)
            else:
                del ended_workers[number]
                yield number, value
            if given_up and not numbers:
                alone, number = True, given_up.pop()
                numbers |= self._begin(task, {number: calls[number]})
                waiting.add(*numbers)

    def _begin(self, task: Task, calls: dict[int, tuple[Any, ...]]) -> dict[Any, int]:
        """The futures of the values, with the numbers of the tasks; parts that Dask computes start together."""
        computed = {number: call for number, call in calls.items() if holds_parts(call[-1])}
        begun = dict(zip(computed, begin_computed(self._client, list(computed.values()), task), strict=True))
        self._waiting.update(begun.values())
        futures: dict[Any, int] = {}
        for number, call in calls.items():
            future = begun[number] if number in begun else self._client.submit(task, *call, pure=False)
            self._waiting.add(future)  # immediately, so that an interruption cancels it
            futures[future] = number
        return futures


def _until_lost(waiting: AsFinished, ended_workers: Mapping[int, bool]) -> Iterator[tuple[Any, Any]]:
    """Yield futures and values; if the cluster is lost, the error names unfinished tasks and those of dead workers."""
    try:
        yield from waiting
    except ClusterLostError as error:
        suspected = [number for number, ended in ended_workers.items() if ended]
        ends = f"; several workers died while they learned shard {first_of(suspected)}" if suspected else ""
        raise ClusterLostError(
            f"{error}; shards that are not learned: {first_of(list(ended_workers))}{ends}"
        ) from error


def _with_place(error: Exception, number: int) -> Exception:
    """The error with the number of its shard, which an error in a part computed by Dask does not have."""
    if (note := f"in shard {number}") not in getattr(error, "__notes__", ()):
        error.add_note(note)
    return error
