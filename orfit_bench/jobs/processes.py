"""Processes in which anybody's code may hang or crash and take nothing else down."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context, parent_process, resource_tracker
from threading import Thread
from typing import Any, NamedTuple, Self

from pebble import ProcessExpired, ProcessPool

BLAS_THREADS = tuple(f"{name}_THREADS" for name in ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "BLIS_NUM", "VECLIB_MAXIMUM"))
"""Environment variables that BLAS libraries read once, when they are loaded."""
THREADS = "ORFIT_BENCH_THREADS"
"""Environment variable by which a user allows backends more threads than one, where that pays."""
MOST_WORKERS = 8
START_SECONDS = 120.0
"""Longest start of a process: importing every installed plugin on a slow disk."""


class DiedError(RuntimeError):
    """The process died of what ran in it; the message says how."""


class Call(NamedTuple):
    """A function of a module, which must not raise, its arguments, and the seconds that it may take."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    timeout: float


class Process:
    """A spawned process in which BLAS has one thread; after a crash or a timeout the next call gets a new one."""

    def __enter__(self) -> Self:
        self._before = {name: os.environ.get(name) for name in BLAS_THREADS}
        os.environ.update(dict.fromkeys(BLAS_THREADS, "1"))  # inherited by every process started from here on
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    @property
    def threads(self) -> dict[str, str]:
        """What the environment of the process says about BLAS threads."""
        return self._wait()

    def begin(self, call: Call) -> Future[Any]:
        """Start a call; `finished` waits for it. One at a time."""
        if not self._pool.active:  # it died after its last call, of a thread left behind
            self._stop()
            self._start()
        self._wait()
        future: Future[Any] = self._pool.schedule(call.function, call.arguments, timeout=call.timeout)
        return future

    def call(self, call: Call) -> Any:
        """What a call returns. TimeoutError where it was stopped, DiedError where the process died."""
        return finished(self.begin(call))

    def _start(self) -> None:
        with _uninterrupted():
            self._pool = ProcessPool(max_workers=1, initializer=_end_with_parent, context=get_context("spawn"))
            self._started = self._pool.schedule(threads, timeout=START_SECONDS)

    def _wait(self) -> dict[str, str]:
        try:
            said: dict[str, str] = self._started.result()
        except (RuntimeError, ProcessExpired, TimeoutError) as error:
            raise RuntimeError(
                "the worker process does not start. A script that calls run() or conform_isolated() must do so under "
                'if __name__ == "__main__": , for the worker imports it; or call run(isolate=False) or conform()'
            ) from error
        return said

    def _stop(self) -> None:
        self._pool.stop()  # type: ignore[no-untyped-call]
        self._pool.join()


@contextmanager
def open_processes(count: int) -> Iterator[list[Process]]:
    """As many processes, each with an environment of one BLAS thread."""
    with ExitStack() as stack:
        yield [stack.enter_context(Process()) for _ in range(count)]


def finished(future: Future[Any]) -> Any:
    """What the call returned. TimeoutError where it was stopped, DiedError where the process died."""
    try:
        return future.result()
    except TimeoutError as error:
        raise TimeoutError(f"stopped after {error.args[1]:g} s") from error
    except ProcessExpired as error:
        raise DiedError(_death(error.exitcode)) from error
    except RuntimeError as error:  # it died so soon that the pool lost sight of the call
        raise DiedError(_death(None)) from error


def spread(processes: Sequence[Process], calls: Iterable[tuple[int, Call]]) -> Iterator[tuple[int, Any]]:
    """The number and the value of every call as it is finished; for a lost one the TimeoutError or DiedError.

    A call is taken from `calls` when a process is free for it.
    """
    waiting, free = iter(calls), list(processes)
    running: dict[Future[Any], tuple[int, Process]] = {}
    while True:
        while free and (following := next(waiting, None)):
            number, call = following
            process = free.pop()
            running[process.begin(call)] = number, process
        if not running:
            return
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            number, process = running.pop(future)
            free.append(process)
            yield number, _value(future)


def _value(future: Future[Any]) -> Any:
    try:
        return finished(future)
    except (TimeoutError, DiedError) as error:
        return error


def cores() -> int:
    """Cores that this process may use, at most MOST_WORKERS: how many processes are worth their memory."""
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(here, MOST_WORKERS)


def threads() -> dict[str, str]:
    """What this process's environment says about threads; empty where nothing, so the library chose."""
    return {name: os.environ[name] for name in (*BLAS_THREADS, THREADS) if name in os.environ}


def _death(code: int | None) -> str:
    if code is None:
        return "the worker process died"
    if code < 0:
        return f"the worker process was killed by signal {-code} ({signal.strsignal(-code)})"
    return f"the worker process ended with exit code {code}"


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C waits for the end of this; a process started in here never gets it, so that it ends with its parent."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # else the first process starts it, which lets Ctrl-C through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent() -> None:
    """A call that hangs must not outlive a run that was killed."""

    def watch() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    Thread(target=watch, daemon=True).start()
