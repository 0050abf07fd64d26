"""Import plugins first in a process of their own: one that ends it, crashes or hangs is named and left out.

A plugin is tried again when one of its files has changed. What was found is stored in the user's cache folder.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from subprocess import Popen

SECONDS = 60.0
"""Time limit for importing a plugin that has not been tried."""
IN_TRIAL = "ORFIT_BENCH_IN_TRIAL"
"""Environment variable, set where plugins are tried. No other plugins are found there than this package's own."""
KEPT = 200
"""So many plugins are remembered, those of several projects on one machine."""
LAST = 200
"""So many characters of the end of what a plugin printed are part of the reason."""
MODULE = "orfit_bench.plugins.importing"


def failures(points: Iterable[EntryPoint]) -> dict[EntryPoint, str]:
    """Why the import of entry points ends or blocks a process; empty for those that are imported or raise.

    Only entry points that are new or changed are tried.
    """
    if os.environ.get(IN_TRIAL) or not sys.executable:
        return {}
    keys = {point: _key(point) for point in points}
    known = _read()
    new = [point for point, key in keys.items() if key not in known]
    if new:
        known |= {keys[point]: reason for point, reason in _try(new).items()}
        _write(known)
    return {point: known[key] for point, key in keys.items() if known.get(key)}


def _try(points: list[EntryPoint]) -> dict[EntryPoint, str]:
    """Why each of them ends or blocks the process in which it is imported; empty for the others."""
    found: dict[EntryPoint, str] = {}
    while len(found) < len(points):
        waiting = points[len(found) :]
        try:
            begun, reason = _import_in_child(waiting)
        except OSError:  # no process can be started here
            return found
        found |= dict.fromkeys(waiting[:begun], "")
        if reason and not (begun and reason == _too_slow()):  # earlier ones took some of its time: it is tried alone
            found[waiting[begun]] = reason
    return found


def _import_in_child(points: list[EntryPoint]) -> tuple[int, str]:
    """How many of them are imported in one process, and why not the next."""
    import subprocess
    from tempfile import TemporaryFile

    task = json.dumps({"path": sys.path, "points": [[p.name, p.value, p.group] for p in points]})
    command = [sys.executable, "-m", MODULE]
    package = str(Path(__file__).parents[2])
    paths = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, IN_TRIAL: "1", "PYTHONPATH": paths}
    with TemporaryFile() as progress, TemporaryFile() as output:  # a pipe would stay open in what a plugin starts
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
        done, printed = _read_text(progress).split(), _read_text(output)
    if done[-1:] == ["end"]:
        return len(points), ""
    if not done:  # this package cannot be imported there
        return len(points), ""
    if not end:
        return int(done[-1]), _too_slow()
    text = " ".join(printed[-LAST:].split())
    return int(done[-1]), f"its import {end}{f', after it printed: {text}' if text else ''}"


def _end_session(process: Popen[bytes]) -> None:
    """End a process and those that it has started."""
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


def _key(point: EntryPoint) -> str:
    """A digest that changes with the plugin's files and with the Python that imports them."""
    parts = [sys.prefix, sys.version, point.name, point.value]
    with suppress(Exception):  # a finder or the metadata of the plugin may fail; then its name counts
        if point.dist:
            parts += [str(point.dist.name), str(point.dist.version)]
        spec = find_spec(point.module.partition(".")[0])
        folders = list(spec.submodule_search_locations or ()) if spec else []
        files = [p for folder in folders for p in Path(folder).rglob("*.py")]
        files += [Path(spec.origin)] if spec and spec.origin and not folders else []
        parts += [f"{p} {p.stat().st_mtime_ns} {p.stat().st_size}" for p in sorted(files)]
    return sha256("\n".join(parts).encode()).hexdigest()


def _file() -> Path:
    import pooch

    return Path(pooch.os_cache("orfit_bench")) / "plugins.json"


def _read() -> dict[str, str]:
    with suppress(OSError, ValueError):
        found = json.loads(_file().read_text())
        if isinstance(found, dict) and all(isinstance(reason, str) for reason in found.values()):
            return found
    return {}


def _write(known: Mapping[str, str]) -> None:
    text = json.dumps(dict(list(known.items())[-KEPT:]), indent=1)
    with suppress(OSError):  # they are tried again next time
        file = _file()
        temporary = file.with_name(f"{file.name}.{os.getpid()}")
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            temporary.write_text(text)
            temporary.replace(file)
        finally:
            temporary.unlink(missing_ok=True)
