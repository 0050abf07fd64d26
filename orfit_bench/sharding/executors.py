"""Where tasks run: in this process, in processes of this machine, or on a cluster of Dask."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import get_context
from typing import Any, Protocol

from orfit_bench.jobs.on_dask import AsFinished
from orfit_bench.jobs.processes import ONE_THREAD, DiedError

Task = Callable[..., Any]
MAX_DEATHS_ALONE = 5
"""So often a task may end its process while no other task runs."""


class Executor(Protocol):
    """Runs tasks."""

    def map(self, task: Task, calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Run a task on each of these arguments; the values in their order."""


class InThisProcess:
    """Runs every task at once, in this process."""

    def map(self, task: Task, calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """The values, each computed when it is asked for."""
        return (task(*arguments) for arguments in calls)


class Processes:
    """Runs tasks in processes of this machine, with one BLAS thread each.

    If a process dies, what it and the others had not finished is started again in new ones: the first of these tasks
    alone, so that it is known which task ends its process.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def map(self, task: Task, calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """The values; twice as many tasks as processes are waiting at a time."""
        waiting, deaths, done, remaining = deque[Any](), 0, 0, iter(calls)
        pool = self._start(self._workers)
        try:
            while True:
                for arguments in islice(remaining, 0 if deaths else max(0, 2 * self._workers - len(waiting))):
                    waiting.append((arguments, _submit(pool, task, arguments)))
                if not waiting:
                    return
                try:
                    value = waiting[0][1].result()
                except BrokenProcessPool:
                    deaths += 1
                    if deaths > MAX_DEATHS_ALONE:
                        raise DiedError(
                            f"shard {done}: the process died {MAX_DEATHS_ALONE} times while it learned this shard alone"
                        ) from None
                    pool.shutdown(wait=True, cancel_futures=True)
                    pool = self._start(1)
                    waiting[0] = waiting[0][0], _submit(pool, task, waiting[0][0])
                    continue
                waiting.popleft()
                done += 1
                if deaths:
                    pool.shutdown(wait=True)
                    pool, deaths = self._start(self._workers), 0
                    waiting = deque((arguments, _submit(pool, task, arguments)) for arguments, _ in waiting)
                yield value
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    @staticmethod
    def _start(workers: int) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(workers, get_context("spawn"), initializer=_use_one_thread)


def _submit(pool: ProcessPoolExecutor, task: Task, arguments: tuple[Any, ...]) -> Any:
    try:
        return pool.submit(task, *arguments)
    except BrokenProcessPool as error:  # a process died since the last one was submitted
        return _Broken(error)


class _Broken:
    """A future that was refused."""

    def __init__(self, error: BrokenProcessPool) -> None:
        self._error = error

    def result(self) -> Any:
        """Raise the error."""
        raise self._error


def _use_one_thread() -> None:
    os.environ.update(ONE_THREAD)  # read when the libraries are loaded, by the first task


class OnDask:
    """Runs tasks on a cluster of Dask, which replays those of lost workers.

    Parameters
    ----------
    client : distributed.Client
        The connection to the cluster.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def map(self, task: Task, calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """The values; each is fetched as soon as it is there, so that only tasks that were running are replayed."""
        futures = [self._client.submit(task, *arguments, pure=False) for arguments in calls]
        order, found = [future.key for future in futures], dict[str, Any]()
        waiting = iter(AsFinished(self._client, futures))
        del futures  # Dask computes what is lost again while somebody has its future
        for key in order:
            while key not in found:
                finished, value = next(waiting)
                if isinstance(value, Exception):
                    raise value
                found[finished.key] = value
            yield found.pop(key)
