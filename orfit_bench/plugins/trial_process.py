"""The process in which `orfit_bench.plugins.trial` imports plugins for the first time."""

from __future__ import annotations

import json
import os
import sys
import threading
from importlib.metadata import EntryPoint, entry_points
from typing import TextIO

from orfit_bench.jobs import fingerprint
from orfit_bench.plugins.discovery import load
from orfit_bench.plugins.entry_points import GROUP
from orfit_bench.plugins.trial import THREADS

END_SECONDS = 5.0
"""Number of seconds within which a process must end after a plugin has started threads in it."""
NAMED = 3
"""Number of functions replaced by a plugin that a message names."""


def import_all() -> None:
    """Import the entry points named on stdin, and report progress in lines on stdout.

    A line is the number of an entry point before its import; the number and a problem with its import; the number and
    "threads", after which this process must end by itself even if a plugin has started threads; or finally "end".
    """
    task = json.load(sys.stdin)
    sys.path[:] = task["path"]
    progress = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # output of plugins
    points = [EntryPoint(*point) for point in task["points"]]
    packages = {_package(point) for point in entry_points(group=GROUP)}
    code = fingerprint.take(packages)
    for i, point in enumerate(points):
        print(i, file=progress, flush=True)
        before = threading.enumerate()
        load(point.load, point.name, "", "")
        replaced, code = fingerprint.check_load(code, _package(point), packages)
        if replaced:
            print(
                f"{i} its import replaces functions outside of it: {', '.join(replaced[:NAMED])}",
                file=progress,
                flush=True,
            )
            os._exit(0)
        if closed := _closed():
            print(f"{i} its import closes {closed}", file=progress, flush=True)
            os._exit(0)
        left = [thread.name for thread in threading.enumerate() if thread not in before and not thread.daemon]
        if left:
            print(f"{i} {THREADS}", file=progress, flush=True)
            _limit_end(f"{i} its import leaves a thread behind that keeps processes from ending: {left[0]}", progress)
            return
    print("end", file=progress, flush=True)
    os._exit(0)  # other threads and exit handlers of plugins do not matter here


def _package(point: EntryPoint) -> str:
    return fingerprint.package_of(point.value.partition(":")[0].strip())


def _closed() -> str:
    """The standard stream that is closed; empty if none is."""
    for name, stream, number in (("stdout", sys.__stdout__, 1), ("stderr", sys.__stderr__, 2)):
        try:
            os.fstat(number)
        except OSError:
            return f"the descriptor of {name}"
        if stream is not None and stream.closed:
            return f"sys.{name}"
    return ""


def _limit_end(fault: str, progress: TextIO) -> None:
    """Write the fault and end the process if it does not end by itself in time."""

    def end() -> None:
        print(" ".join(fault.split()), file=progress, flush=True)
        os._exit(0)

    timer = threading.Timer(END_SECONDS, end)
    timer.daemon = True
    timer.start()


if __name__ == "__main__":
    import_all()
