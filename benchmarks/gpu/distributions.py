"""Metadata files for the project's distributions if nothing can be installed, since plugins are found by metadata.

This module uses only the standard library.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.gpu.options import ROOT

PROJECTS = (ROOT, *sorted(path.parent for path in (ROOT / "plugins").glob("*/pyproject.toml")))


def declared(project: Path) -> dict[str, Any]:
    """The table `project` of the pyproject.toml of a distribution."""
    table: dict[str, Any] = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    return table


def requirements() -> dict[str, str]:
    """Third-party distributions that the project needs, each with its minimum version, "" for any."""
    texts = [text for project in PROJECTS for text in declared(project).get("dependencies", [])]
    found: dict[str, str] = {}
    for name, _, least in (text.partition(">=") for text in texts):
        if not name.startswith("orfit-bench"):
            found[name] = max(found.get(name, ""), least, key=numbers)
    return found


def numbers(version: str) -> tuple[int, ...]:
    """The first two numbers of a version, which is enough to compare it."""
    parts = [part for part in version.split(".")[:2] if part.isdecimal()]
    return tuple(map(int, parts))


def write_metadata(folder: Path) -> None:
    """Write the metadata that an installer would write for each project: name, version, entry points."""
    for project in PROJECTS:
        table = declared(project)
        name, version = table["name"], table["version"]
        here = folder / f"{name.replace('-', '_')}-{version}.dist-info"
        here.mkdir(parents=True, exist_ok=True)
        (here / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (here / "entry_points.txt").write_text(entry_points(table))


def entry_points(table: Mapping[str, Any]) -> str:
    """The contents of the file `entry_points.txt`."""
    groups = {"console_scripts": table.get("scripts", {}), **table.get("entry-points", {})}
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in of.items()) for group, of in groups.items() if of]
    return "\n".join(lines)


def python_path(metadata: Path, packages: Path) -> str:
    """The PYTHONPATH: the project's code and metadata, the packages installed for it, and the user's PYTHONPATH."""
    sources = [ROOT, *(project / "src" for project in PROJECTS[1:])]
    users = filter(None, [os.environ.get("PYTHONPATH", "")])
    return os.pathsep.join([str(metadata), *map(str, sources), *users, str(packages)])
