"""Results of trial imports of plugins, stored in the user's cache folder until they may be outdated."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from orfit_bench.jobs.files import cache_folder, replace_text

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

KEPT = 200
"""Largest number of plugins whose results are stored; they may belong to several projects on a machine."""
SHORTEST, TIMES = 60.0, 60.0
"""A failed plugin is tried again after this many seconds, or after this multiple of the duration of its trial."""
CHECKS = "3"
"""Version of the trial; it changes when the trial finds more problems, so that all plugins are tried again."""
CODE = (".py", ".so", ".pyd", ".dll", ".dylib")


class Tried(NamedTuple):
    """The result of trying a plugin."""

    reason: str = ""
    """The reason why its import ends or blocks a process; empty if it does not."""
    date: float = 0.0
    """The time of the trial, in seconds since the epoch."""
    seconds: float = 0.0
    """The duration of the trial, in seconds."""

    @property
    def wait(self) -> float:
        """The seconds after which it is tried again, since the cause may lie outside its files."""
        return max(SHORTEST, TIMES * self.seconds)

    def holds(self) -> bool:
        """Whether the result is still valid."""
        return not self.reason or 0 <= time.time() - self.date < self.wait

    def text(self) -> str:
        """The reason, with the time after which it is tried again; empty if there is none."""
        if not self.reason:
            return ""
        wait = f"{self.wait:.0f} s" if self.wait < 100 else f"{self.wait / 60:.0f} minutes"
        return f"{self.reason}; it is tried again after {wait}, or once its files or requirements change"


def installed() -> dict[str, str]:
    """The distributions on the import path by normalized name, each with its version and modification time.

    Both are taken from the metadata folders, which is fifty times faster than reading the metadata.
    """
    found: dict[str, str] = {}
    for entry in sys.path:
        with suppress(OSError), os.scandir(entry or ".") as folders:
            for one in folders:
                if one.name.endswith((".dist-info", ".egg-info")):
                    found.setdefault(_normalized(one.name.partition("-")[0]), f"{one.name} {one.stat().st_mtime_ns}")
    return found


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def key_of(point: EntryPoint, available: Mapping[str, str]) -> str:
    """A digest that changes with the plugin's files, its requirements, and the installation and version of Python.

    `available` is the result of `installed`.
    """
    parts = [CHECKS, sys.prefix, sys.version, point.name, point.value]
    with suppress(Exception):  # a finder or the metadata of the plugin may fail; then only its name counts
        if point.dist:
            metadata = point.dist.metadata
            parts += [str(metadata["Name"]), str(metadata["Version"])]
            names = (re.match(r"[\w.-]+", text) for text in metadata.get_all("Requires-Dist") or ())
            parts += sorted({available.get(_normalized(name[0]), name[0]) for name in names if name})
        spec = find_spec(point.module.partition(".")[0])
        folders = list(spec.submodule_search_locations or ()) if spec else []
        files = [p for folder in folders for p in Path(folder).rglob("*") if p.suffix in CODE]
        files += [Path(spec.origin)] if spec and spec.origin and not folders else []
        parts += [f"{p} {p.stat().st_mtime_ns} {p.stat().st_size}" for p in sorted(files)]
    return sha256("\n".join(parts).encode()).hexdigest()


def _file() -> Path:
    return cache_folder() / "plugins.json"


def read() -> dict[str, Tried]:
    """The stored results, by the keys of plugins; empty if the file is missing or damaged."""
    with suppress(OSError, ValueError, TypeError, AttributeError):
        stored = json.loads(_file().read_text()).items()
        return {key: Tried(str(reason), float(date), float(seconds)) for key, (reason, date, seconds) in stored}
    return {}


def write(known: Mapping[str, Tried]) -> None:
    """Store the results; if that is impossible, plugins are tried again next time."""
    with suppress(OSError):
        _file().parent.mkdir(parents=True, exist_ok=True)
        replace_text(_file(), json.dumps(dict(list(known.items())[-KEPT:]), indent=1))
