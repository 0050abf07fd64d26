"""Worker processes: code that hangs or crashes in them does not affect the main process."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context, parent_process, resource_tracker
from threading import TIMEOUT_MAX, Thread
from typing import Any, NamedTuple, Self

from pebble import ProcessExpired, ProcessPool

BLAS_THREADS = tuple(f"{name}_THREADS" for name in ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "BLIS_NUM", "VECLIB_MAXIMUM"))
"""Environment variables that BLAS libraries read when they are loaded."""
ONE_THREAD = dict.fromkeys(BLAS_THREADS, "1")
"""The environment in which BLAS uses one thread."""
THREADS = "ORFIT_BENCH_THREADS"
"""Environment variable with which a user allows backends to use several threads."""
MAX_WORKERS = 8
MEMORY_SHARE = 0.75
"""Share of the machine's memory that calls may allocate by default."""
MAX_DEATHS = 20
"""Number of processes that may die while running one task before it is given up."""
NOT_STARTED = (
    "the worker process does not start. A script that calls run(), conform_isolated() or learn() must do so under "
    'if __name__ == "__main__":, since the worker imports it; or call run(isolate=False), conform() or '
    "learn(..., workers=1)"
)
START_SECONDS = 120.0
"""Time limit for starting a process, which imports every installed plugin."""


class DiedError(RuntimeError):
    """The process died; the message describes how."""


class Call(NamedTuple):
    """A function that can be pickled and must not raise, its arguments, and a time limit in seconds."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    timeout: float


class Running(NamedTuple):
    """A call that runs in a process. Its time is measured by a monotonic clock."""

    future: Future[Any]
    timeout: float
    end: float
    """The time at which it is stopped, by `time.monotonic`."""

    @property
    def seconds_left(self) -> float:
        """The seconds until it is stopped, at least 0, and at most the longest possible waiting time."""
        return min(max(0.0, self.end - time.monotonic()), TIMEOUT_MAX)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread in all processes that are started in this context."""
    before = {name: os.environ.get(name) for name in BLAS_THREADS}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class Process:
    """A spawned process in which BLAS uses one thread. After a crash or a timeout, the next call starts a new one."""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(one_blas_thread())
            self._start()
            stack.callback(self._stop)
            self._resources = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    @property
    def threads(self) -> dict[str, str]:
        """The environment variables for numbers of threads in the process."""
        return self._wait()

    def begin(self, call: Call) -> Running:
        """Start a call; `result_of` waits for it. Only one call may run at a time."""
        if not self._pool.active:  # it died after its last call, e.g. in a background thread
            self._stop()
            self._start()
        self._wait()
        return self._schedule(call)

    def call(self, call: Call) -> Any:
        """Run a call and return its result. Raises TimeoutError or DiedError."""
        return result_of(self.begin(call))

    def _start(self) -> None:
        with uninterrupted():
            self._pool = ProcessPool(max_workers=1, initializer=_end_with_parent, context=get_context("spawn"))
            self._started = self._schedule(Call(threads, (), START_SECONDS))

    def _schedule(self, call: Call) -> Running:
        future = self._pool.schedule(call.function, call.arguments)
        return Running(future, call.timeout, time.monotonic() + call.timeout)

    def _wait(self) -> dict[str, str]:
        try:
            found: dict[str, str] = result_of(self._started)
        except (DiedError, TimeoutError) as error:
            raise RuntimeError(NOT_STARTED) from error
        return found

    def _stop(self) -> None:
        self._pool.stop()  # type: ignore[no-untyped-call]
        self._pool.join()


@contextmanager
def open_processes(count: int) -> Iterator[list[Process]]:
    """Start `count` processes."""
    with ExitStack() as stack:
        yield [stack.enter_context(Process()) for _ in range(count)]


def result_of(running: Running) -> Any:
    """Wait for a call and return its result. Raises TimeoutError if it was stopped, DiedError if the process died."""
    try:
        return running.future.result(running.seconds_left)
    except TimeoutError as error:
        running.future.cancel()  # ends the process
        raise TimeoutError(f"stopped after {running.timeout:g} s") from error
    except ProcessExpired as error:
        raise DiedError(describe_death(error.exitcode)) from error
    except RuntimeError as error:  # the process died before the pool registered the call
        raise DiedError(describe_death(None)) from error


def spread(processes: Sequence[Process], calls: Iterable[tuple[int, Call]]) -> Iterator[tuple[int, Any]]:
    """Run numbered calls on several processes and yield (number, result) in the order of completion.

    If a call was stopped or its process died, the result is a TimeoutError or DiedError. `calls` is consumed lazily,
    whenever a process is free.
    """
    waiting, free = iter(calls), list(processes)
    at_work: dict[Future[Any], tuple[int, Process, Running]] = {}
    while True:
        while free and (following := next(waiting, None)):
            number, call = following
            process = free.pop()
            running = process.begin(call)
            at_work[running.future] = number, process, running
        if not at_work:
            return
        wait(at_work, min(running.seconds_left for _, _, running in at_work.values()), FIRST_COMPLETED)
        for future in [f for f, (_, _, running) in at_work.items() if f.done() or not running.seconds_left]:
            number, process, running = at_work.pop(future)
            free.append(process)
            yield number, _value(running)


def _value(running: Running) -> Any:
    try:
        return result_of(running)
    except (TimeoutError, DiedError) as error:
        return error


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cores() -> int:
    """Return the number of cores that this process may use, at most MAX_WORKERS to limit memory."""
    return min(available_cores(), MAX_WORKERS)


def threads(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables for numbers of threads that are set, by default in this process."""
    return {name: environment[name] for name in (*BLAS_THREADS, THREADS) if name in environment}


def default_memory_limit(count: int = 1, memory: int | None = None) -> int:
    """Three quarters of `memory`, by default of the machine's memory, divided by the number of simultaneous calls."""
    available = memory or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return int(MEMORY_SHARE / count * available)


def describe_death(code: int | None) -> str:
    """A description of how a process ended, from its exit code."""
    if code is None:
        return "the worker process died"
    if code < 0:
        return f"the worker process was killed by signal {-code} ({signal.strsignal(-code)})"
    return f"the worker process ended with exit code {code}"


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Block SIGINT. A process started in this context never receives it, and ends with its parent."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # otherwise the first process starts it and unblocks SIGINT
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent() -> None:
    """End this process when its parent ends, even if a call hangs."""

    def watch() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    Thread(target=watch, daemon=True).start()
