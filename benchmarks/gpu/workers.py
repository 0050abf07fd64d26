"""A process that runs units, so that a hang, a crash or a broken context of the device affects only this process."""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, Queue
from threading import Thread
from time import monotonic
from typing import Any, Self

from benchmarks.gpu.units import DONE, FAILED, LEFT, Unit

Tell = Callable[..., None]
"""Reports results of a unit immediately, by name: tell(rows=256)."""
LONGEST = 500
"""Largest number of characters of an error message."""
PARTING = 10.0
"""Seconds that a process has to end after its last message."""


class Worker:
    """The process as seen by its caller. It is started for the first unit, and again after a unit that failed."""

    def __enter__(self) -> Self:
        self._process: Any = None
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def do(self, unit: Unit, seconds: float, keep: Callable[[dict[str, Any]], None]) -> tuple[str, str]:
        """DONE, FAILED, or LEFT if its time was over, and the reason. `keep(results)` is called with its results."""
        process = self._process = self._process or self._started()
        end = monotonic() + seconds
        with suppress(BrokenPipeError):  # it died in between, which the answer reports
            process.stdin.write(json.dumps([unit.call, unit.arguments | dict(unit.how)]) + "\n")
            process.stdin.flush()
        while True:
            try:
                answer = self._answers.get(timeout=max(0.0, end - monotonic()))
            except Empty:
                self._end()
                return LEFT, f"stopped after {seconds:.3g} s"
            if answer is None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(PARTING)
                self._end()
                return FAILED, died(process.returncode)
            if "results" in answer:
                keep(answer["results"])
            elif why := answer["failed"]:
                self._end()
                return FAILED, why
            else:
                return DONE, ""

    def _started(self) -> Any:
        command = [sys.executable, "-c", "from benchmarks.gpu.workers import serve; serve()"]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        process = subprocess.Popen(command, text=True, start_new_session=True, **pipes)
        self._answers: Queue[dict[str, Any] | None] = Queue()
        Thread(target=listen, args=(process.stdout, self._answers), daemon=True).start()
        return process

    def _end(self) -> None:
        """Kill the process and all that it started."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                kill(self._process.pid)
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                with suppress(BrokenPipeError):
                    pipe.close()
            self._process = None


def kill(group: int) -> None:
    """Kill a process that leads a group, and the group if the system supports it."""
    if hasattr(os, "killpg"):
        os.killpg(group, signal.SIGKILL)
    else:
        os.kill(group, signal.SIGTERM)


def died(code: int) -> str:
    """How the process ended."""
    return f"its process was killed by signal {-code} ({signal.strsignal(-code)})" if code < 0 else f"it ended: {code}"


def listen(lines: Any, queue: Queue[Any]) -> None:
    """Put incoming JSON values into the queue, and None at the end of the input."""
    with suppress(ValueError, OSError):  # closed in the meantime
        for line in lines:
            queue.put(json.loads(line))
    queue.put(None)


def serve() -> None:
    """The loop of the process: read units from its input, write answers to its original output, end with its caller."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # so that printed text is not read as a result
    calls: Queue[Any] = Queue()
    Thread(target=end_with_caller, args=(calls,), daemon=True).start()
    while True:
        call, arguments = calls.get()
        answers.write(json.dumps({"failed": outcome(call, arguments, answers)}) + "\n")


def end_with_caller(calls: Queue[Any]) -> None:
    """Read calls from the input; when the caller is gone, end the process, whatever it runs."""
    for line in sys.stdin:
        calls.put(json.loads(line))
    kill(os.getpid())


def outcome(call: str, arguments: dict[str, Any], answers: Any) -> str:
    """Run one unit; the reason for its failure, or an empty string."""

    def tell(**results: Any) -> None:
        answers.write(json.dumps({"results": results}) + "\n")

    module, _, function = call.partition(":")
    try:
        getattr(importlib.import_module(module), function)(tell, **arguments)
    except BaseException as error:  # of code that runs on a device for the first time
        tell(trace=traceback.format_exc())
        return describe_error(error)
    finally:
        free()
    return ""


def describe_error(error: BaseException) -> str:
    """The error in one line, with the place that raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    text = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST]
    return f"{text} ({last.filename.rpartition('/')[2]}, line {last.lineno})"


def free() -> None:
    """Release the memory of the device, and the pinned memory of the host."""
    gc.collect()
    if cupy := sys.modules.get("cupy"):
        for pool in (cupy.get_default_memory_pool(), cupy.get_default_pinned_memory_pool()):
            with suppress(Exception):  # the context may be lost, which the unit reports
                pool.free_all_blocks()
