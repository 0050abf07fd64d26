"""Trial import of plugins in a separate process: plugins that end it, crash or hang are reported and left out.

A plugin is tried again if one of its files or requirements has changed, if a process ended while loading plugins, and
some time after a failure. Results are stored in the user's cache folder.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from orfit_bench.jobs.files import cache_folder
from orfit_bench.plugins import loading_marks, trial_results
from orfit_bench.plugins.trial_results import Tried

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from subprocess import Popen

SECONDS = 60.0
"""Time limit for importing a plugin that has not been tried."""
IN_TRIAL = "ORFIT_BENCH_IN_TRIAL"
"""Environment variable that is set in trial processes. They find only this package's own plugin."""
LAST = 200
"""Number of characters from the end of a plugin's output that are part of the reason."""
MODULE = "orfit_bench.plugins.trial_process"
THREADS = "threads"
"""What a trial process prints after the number of an entry point whose import has started threads."""


@contextmanager
def tried(points: Iterable[EntryPoint]) -> Iterator[dict[EntryPoint, str]]:
    """Yield the reason why importing each entry point ends or blocks a process; empty if it succeeds or raises.

    Only entry points that are new or changed, or that failed some time ago, are tried. The others are imported in the
    context: if this process ends meanwhile, the next process tries them.
    """
    points = list(points)
    if os.environ.get(IN_TRIAL) or not sys.executable or not points:
        yield {}
        return
    available = trial_results.installed()
    keys = {point: trial_results.key_of(point, available) for point in points}
    folder = cache_folder() / "loading"
    failed = _failures(keys, loading_marks.take_left(folder))
    with loading_marks.marked(folder, (key for point, key in keys.items() if point not in failed)):
        yield failed


def _failures(keys: dict[EntryPoint, str], suspected: set[str]) -> dict[EntryPoint, str]:
    """The reasons why importing entry points ends or blocks a process; those with suspected keys are tried again."""
    known = trial_results.read()
    valid = {key for key, found in known.items() if found.holds()} - suspected
    new = [point for point, key in keys.items() if key not in valid]
    if new:
        known |= {keys[point]: found for point, found in _try(new).items()}
        trial_results.write(known)
    return {point: known[key].text() for point, key in keys.items() if key in known and known[key].reason}


def _try(points: list[EntryPoint]) -> dict[EntryPoint, Tried]:
    """The result of importing each entry point in another process."""
    found: dict[EntryPoint, Tried] = {}
    while len(found) < len(points):
        waiting = points[len(found) :]
        began = time.monotonic()
        try:
            begun, reason = _import_in_child(waiting)
        except OSError:  # processes cannot be started
            return found
        found |= dict.fromkeys(waiting[:begun], Tried())
        if reason and not (begun and reason == _too_slow()):  # earlier ones used some of its time, so it is tried alone
            found[waiting[begun]] = Tried(reason, time.time(), time.monotonic() - began)
    return found


def _import_in_child(points: list[EntryPoint]) -> tuple[int, str]:
    """The number of entry points imported in one process, and why the next failed; see `trial_process`."""
    import subprocess
    from tempfile import TemporaryFile

    task = json.dumps({"path": sys.path, "points": [[p.name, p.value, p.group] for p in points]})
    command = [sys.executable, "-m", MODULE]
    package = str(Path(__file__).parents[2])
    paths = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, IN_TRIAL: "1", "PYTHONPATH": paths}
    with TemporaryFile() as progress, TemporaryFile() as output:  # a plugin's child processes would keep a pipe open
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=progress, stderr=output, env=environment, start_new_session=True
        )
        try:
            process.communicate(task.encode(), SECONDS)
            end = _describe(process.returncode)
        except subprocess.TimeoutExpired:
            end = ""
        finally:
            _end_session(process)
        lines, printed = _read_text(progress).splitlines(), _read_text(output)
    last, _, fault = (lines or ["end"])[-1].partition(" ")  # no lines: this package cannot be imported
    if last == "end":
        return len(points), ""
    if fault == THREADS:
        return int(last) + 1, ""
    if fault:
        return int(last), fault
    if not end:
        return int(last), _too_slow()
    text = " ".join(printed[-LAST:].split())
    return int(last), f"its import {end}{f', after it printed: {text}' if text else ''}"


def _end_session(process: Popen[bytes]) -> None:
    """End a process and the processes that it has started."""
    with suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _read_text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _too_slow() -> str:
    return f"its import did not finish in {SECONDS:g} s"


def _describe(code: int) -> str:
    if code < 0:
        with suppress(ValueError):
            return f"crashed the process ({signal.Signals(-code).name})"
    return f"ended the process with exit code {code}"
