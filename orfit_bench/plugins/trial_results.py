"""What was found when plugins were tried, stored in the user's cache folder until it may have changed."""

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

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

KEPT = 200
"""So many plugins are remembered, those of several projects on one machine."""
SHORTEST, TIMES = 60.0, 60.0
"""A plugin that failed is tried again after this many seconds, or after this many times the seconds that it took."""
CHECKS = "3"
"""Changes when more is found wrong with plugins, so that all are tried again."""
CODE = (".py", ".so", ".pyd", ".dll", ".dylib")


class Tried(NamedTuple):
    """What the trial of a plugin found."""

    reason: str = ""
    """Why its import ends or blocks a process; empty if it does not."""
    date: float = 0.0
    """When it was tried, in seconds since the epoch."""
    seconds: float = 0.0
    """How long that took."""

    @property
    def wait(self) -> float:
        """The seconds after which it is tried again, since the cause may lie outside its files."""
        return max(SHORTEST, TIMES * self.seconds)

    def holds(self) -> bool:
        """Whether it need not be tried again."""
        return not self.reason or 0 <= time.time() - self.date < self.wait

    def text(self) -> str:
        """The reason, with the time after which it is tried again; empty if there is none."""
        if not self.reason:
            return ""
        wait = f"{self.wait:.0f} s" if self.wait < 100 else f"{self.wait / 60:.0f} minutes"
        return f"{self.reason}; it is tried again after {wait}, or once its files or requirements change"


def folder() -> Path:
    """The user's cache folder of this package."""
    import pooch

    return Path(pooch.os_cache("orfit_bench"))


def installed() -> dict[str, str]:
    """The distributions on the import path by their normalized names, each with its version and the time of its change.

    Both come from the folders of their metadata, which is fifty times as fast as reading the metadata.
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
    """A digest that changes with the plugin's files, with what it requires and with the Python that imports it.

    `available` is what `installed` found.
    """
    parts = [CHECKS, sys.prefix, sys.version, point.name, point.value]
    with suppress(Exception):  # a finder or the metadata of the plugin may fail; then its name counts
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
    return folder() / "plugins.json"


def read() -> dict[str, Tried]:
    """What was found so far, by the keys of plugins; empty if the file is missing or damaged."""
    with suppress(OSError, ValueError, TypeError):
        return {key: Tried(str(r), float(date), float(s)) for key, (r, date, s) in _items(_file().read_text())}
    return {}


def _items(text: str) -> list[tuple[str, tuple[str, float, float]]]:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise TypeError("want an object")
    return list(found.items())


def write(known: Mapping[str, Tried]) -> None:
    """Store what was found; where that is impossible, plugins are tried again next time."""
    text = json.dumps(dict(list(known.items())[-KEPT:]), indent=1)
    with suppress(OSError):
        file = _file()
        temporary = file.with_name(f"{file.name}.{os.getpid()}")
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            temporary.write_text(text)
            temporary.replace(file)
        finally:
            temporary.unlink(missing_ok=True)
