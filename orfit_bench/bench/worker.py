"""A process that runs one cell at a time, so that a cell can take nothing but itself down."""

from __future__ import annotations

import os
import signal
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Any

from pebble import ProcessExpired, ProcessPool

from orfit_bench.bench import machine
from orfit_bench.bench.cell import Cell, outcome, run_cell, said_by

START_SECONDS = 120.0
"""Longest start of a worker: importing every installed plugin on a slow disk."""


class Worker:
    """A spawned process in which BLAS has one thread; after a crash or a timeout the next cell gets a new one."""

    def __enter__(self) -> Worker:
        self._before = {name: os.environ.get(name) for name in machine.BLAS_THREADS}
        os.environ.update(dict.fromkeys(machine.BLAS_THREADS, "1"))  # inherited by every process started from here on
        try:
            self.threads = self._start()
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

    def run(self, cell: Cell, timeout: float) -> dict[str, Any]:
        """What `run_cell` says, or that the worker crashed, or was stopped after `timeout` seconds."""
        if not self._pool.active:  # it died after its last cell, of a thread left behind
            self._stop()
            self._start()
        try:
            record: dict[str, Any] = self._pool.schedule(_work, (cell,), timeout=timeout).result()
        except TimeoutError:
            return outcome(cell, "timeout", f"stopped after {timeout:g} s")
        except ProcessExpired as error:
            return outcome(cell, "crashed", _death(error.exitcode))
        except RuntimeError:  # it died so soon that the pool lost sight of the cell
            return outcome(cell, "crashed", _death(None))
        return record

    def _start(self) -> dict[str, str]:
        self._pool = ProcessPool(max_workers=1, initializer=_end_with_parent, context=get_context("spawn"))
        try:
            said: dict[str, str] = self._pool.schedule(machine.threads, timeout=START_SECONDS).result()
        except (RuntimeError, ProcessExpired, TimeoutError) as error:
            raise RuntimeError(
                "the worker process does not start. A script that calls run() must do so under "
                'if __name__ == "__main__": , for the worker imports it; or pass isolate=False'
            ) from error
        return said

    def _stop(self) -> None:
        self._pool.stop()  # type: ignore[no-untyped-call]
        self._pool.join()


def _work(cell: Cell) -> dict[str, Any]:
    try:
        return run_cell(cell)
    except BaseException as error:  # even a KeyboardInterrupt that a plugin raises: here it is not the user's
        return outcome(cell, "failed", said_by(error))


def _death(code: int | None) -> str:
    if code is None:
        return "the worker process died"
    if code < 0:
        return f"the worker process was killed by signal {-code} ({signal.strsignal(-code)})"
    return f"the worker process ended with exit code {code}"


def _end_with_parent() -> None:
    """A cell that hangs must not outlive a run that was killed."""

    def watch() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    Thread(target=watch, daemon=True).start()


class Here:
    """In the place of a Worker: this process, without protection and without a time limit."""

    def __init__(self) -> None:
        self.threads = machine.threads()

    def run(self, cell: Cell, timeout: float) -> dict[str, Any]:
        """What `run_cell` says."""
        return run_cell(cell)
