"""Executors of tasks: in this process, or in processes on this machine; `dask_executor` is for clusters."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, NamedTuple, Protocol

from orfit_bench.jobs.processes import Call, DiedError, Process, Running, result_of

Task = Callable[..., Any]
MAX_DEATHS_ALONE = 5
"""Number of times that a task may end its process while no other task runs."""
UNLIMITED = 1e9
"""Time limit for a task, in seconds."""


class Executor(Protocol):
    """Runs tasks."""

    def map(self, task: Task, calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Run a task for each call, whose last argument is a shard, and yield the values in order."""


class InThisProcess:
    """Runs each task in this process, when its value is requested."""

    def map(self, task: Task, calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield the values, each computed when it is requested."""
        return (task(*arguments) for arguments in calls)


class Outcome(NamedTuple):
    """The outcome of a task: its value, or its error with the traceback as a string."""

    value: Any
    error: Exception | None = None
    trace: str = ""


class RemoteError(Exception):
    """The traceback of an error in another process, raised as the cause of that error."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def attempt(task: Task, *arguments: Any) -> Outcome:
    """Run a task in another process."""
    try:
        return Outcome(task(*arguments))
    except Exception as error:
        trace = traceback.format_exc()
        try:
            pickle.loads(pickle.dumps(error))  # pickled by our own process
        except Exception:
            notes = getattr(error, "__notes__", ())
            error = RuntimeError(f"{type(error).__name__}: {error}")
            for note in notes:
                error.add_note(note)
        return Outcome(None, error, trace)


class Processes:
    """Runs tasks in processes of this machine.

    A task whose process died runs again when no other task is running, so that it has the machine to itself.
    """

    def __init__(self, processes: Sequence[Process]) -> None:
        self._processes = processes

    def map(self, task: Task, calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield the values in order; fewer than three per process are computed before their turn."""
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
        raise death_error(number, MAX_DEATHS_ALONE, "process", str(reason))


def _value(outcome: Outcome) -> Any:
    if outcome.error is not None:
        raise outcome.error from RemoteError(outcome.trace)
    return outcome.value


def death_error(number: int, deaths: int, what: str, reason: str) -> DiedError:
    """The error for a shard at which processes or workers died too often."""
    return DiedError(f"shard {number}: the {what} died {deaths} times while it learned this shard alone ({reason})")
