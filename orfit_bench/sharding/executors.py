"""Where tasks run: in this process, in processes of this machine, or on a cluster of Dask."""

from __future__ import annotations

import pickle
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, NamedTuple, Protocol

from orfit_bench.jobs.on_dask import AsFinished, ClusterLostError
from orfit_bench.jobs.processes import Call, DiedError, Process, Running, result_of
from orfit_bench.sharding.dask_parts import begin_computed, holds_parts

Task = Callable[..., Any]
MAX_DEATHS_ALONE = 5
"""So often a task may end its process while no other task runs."""
MAX_DEATHS_ON_CLUSTER = 12
"""So often a worker may die while it runs a task alone: three times as often as Dask lets it by default, since workers
are also lost by chance."""
MOST_NAMED = 5
"""So many tasks are named that are not done."""
UNLIMITED = 1e9
"""Seconds that a task may take."""


class Executor(Protocol):
    """Runs tasks."""

    def map(self, task: Task, calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Run a task on each of these arguments, of which the last is a shard; the values in their order."""


class InThisProcess:
    """Runs every task at once, in this process."""

    def map(self, task: Task, calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """The values, each computed when it is asked for."""
        return (task(*arguments) for arguments in calls)


class Outcome(NamedTuple):
    """What became of a task: its value, or its error with the traceback as a text."""

    value: Any
    error: Exception | None = None
    trace: str = ""


class RemoteError(Exception):
    """The traceback of an error in another process, as its cause."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def attempt(task: Task, *arguments: Any) -> Outcome:
    """Do a task in another process."""
    try:
        return Outcome(task(*arguments))
    except Exception as error:
        trace = traceback.format_exc()
        try:
            pickle.loads(pickle.dumps(error))  # of our own process
        except Exception:
            error = RuntimeError(f"{type(error).__name__}: {error}")
        return Outcome(None, error, trace)


class Processes:
    """Runs tasks in processes of this machine.

    A task whose process died is done again when no other task runs, so that it has the machine for itself.
    """

    def __init__(self, processes: Sequence[Process]) -> None:
        self._processes = processes

    def map(self, task: Task, calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """The values; at most twice as many of them as processes are there before their turn."""
        remaining, free = enumerate(calls), list(self._processes)
        at_work: dict[Future[Any], tuple[int, tuple[Any, ...], Process, Running]] = {}
        died: dict[int, tuple[Any, ...]] = {}
        values, turn = dict[int, Any](), 0
        while True:
            while free and not died and len(values) < 2 * len(self._processes) and (following := next(remaining, None)):
                self._begin(at_work, free.pop(), task, *following)
            if at_work:
                wait(at_work, return_when=FIRST_COMPLETED)
                for future in [future for future in at_work if future.done()]:
                    number, arguments, process, running = at_work.pop(future)
                    free.append(process)
                    try:
                        values[number] = result_of(running)
                    except DiedError:
                        died[number] = arguments
            elif died:
                number, arguments = died.popitem()
                values[number] = self._do_alone(task, number, arguments)
            else:
                return
            while turn in values:
                yield _value(values.pop(turn))
                turn += 1

    @staticmethod
    def _begin(at_work: dict[Any, Any], process: Process, task: Task, number: int, arguments: tuple[Any, ...]) -> None:
        running = process.begin(Call(attempt, (task, *arguments), UNLIMITED))
        at_work[running.future] = number, arguments, process, running

    def _do_alone(self, task: Task, number: int, arguments: tuple[Any, ...]) -> Any:
        for _ in range(MAX_DEATHS_ALONE):
            try:
                return self._processes[0].call(Call(attempt, (task, *arguments), UNLIMITED))
            except DiedError as error:
                reason = error
        raise _died(number, MAX_DEATHS_ALONE, "process", str(reason))


def _value(outcome: Outcome) -> Any:
    if outcome.error is not None:
        raise outcome.error from RemoteError(outcome.trace)
    return outcome.value


class OnDask:
    """Runs tasks on a cluster of Dask, which replays those of lost workers and computes its own parts.

    A task whose workers died several times is done again when no other task of these runs.

    Parameters
    ----------
    client : distributed.Client
        The connection to the cluster.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def map(self, task: Task, calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """The values; each is fetched as soon as it is there, so that only tasks that were running are replayed."""
        given = dict(enumerate(calls))
        finished, values = self._finish(task, given), dict[int, Any]()
        for turn in range(len(given)):
            while turn not in values:
                number, value = next(finished)
                values[number] = value
            yield values.pop(turn)

    def _finish(self, task: Task, calls: dict[int, tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        """The number and the value of each task, as they finish; those that Dask gave up are begun again at the end."""
        from distributed import KilledWorker

        numbers = self._begin(task, calls)
        waiting = AsFinished(self._client, numbers, retries=0)
        given_up, deaths, alone = list[int](), Counter[int](), False
        for future, value in _until_lost(waiting, numbers):
            number = numbers.pop(future)
            future.release()  # Dask computes what is lost again while somebody has its future
            if isinstance(value, KilledWorker):
                deaths[number] += (value.allowed_failures + 1) * alone
                if deaths[number] >= MAX_DEATHS_ON_CLUSTER:
                    raise _died(number, deaths[number], "worker", f"the last one was {value.last_worker.address}")
                given_up.append(number)
            elif isinstance(value, Exception):
                raise _with_place(value, number)
            else:
                yield number, value
            if given_up and not numbers:
                alone, number = True, given_up.pop()
                numbers |= self._begin(task, {number: calls[number]})
                waiting.add(*numbers)

    def _begin(self, task: Task, calls: dict[int, tuple[Any, ...]]) -> dict[Any, int]:
        """The futures of the values, with the numbers of the tasks; parts that Dask computes begin together."""
        computed = {number: call for number, call in calls.items() if holds_parts(call[-1])}
        begun = dict(zip(computed, begin_computed(self._client, list(computed.values()), task), strict=True))
        submit = self._client.submit
        return {begun[i] if i in begun else submit(task, *call, pure=False): i for i, call in calls.items()}


def _until_lost(waiting: AsFinished, numbers: Mapping[Any, int]) -> Iterator[tuple[Any, Any]]:
    """Futures and values; if the cluster is lost, the error names the tasks that are left."""
    try:
        yield from waiting
    except ClusterLostError as error:
        left = sorted(numbers.values())
        few = ", ".join(map(str, left[:MOST_NAMED])) + (", ..." if len(left) > MOST_NAMED else "")
        raise ClusterLostError(f"{error}; shards that are not learned: {few}") from error


def _died(number: int, deaths: int, what: str, reason: str) -> DiedError:
    return DiedError(f"shard {number}: the {what} died {deaths} times while it learned this shard alone ({reason})")


def _with_place(error: Exception, number: int) -> Exception:
    """The error with the number of its shard, which one of a part that Dask computes does not have."""
    if (note := f"in shard {number}") not in getattr(error, "__notes__", ()):
        error.add_note(note)
    return error
