"""Entry points of installed plugins, whose metadata may be damaged."""

from __future__ import annotations

import re
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "orfit_bench"


def supplier_of(point: EntryPoint) -> tuple[str, str]:
    """Name and version of the distribution; empty if its metadata cannot be read."""
    try:
        return (point.dist.name or "", point.dist.version or "") if point.dist else ("", "")
    except Exception:
        return "", ""


def module_of(point: EntryPoint) -> str:
    """The name of the module; empty if the entry point names none, as in "my-plugin = my-plugin"."""
    try:
        return point.module
    except (AttributeError, ValueError):  # the value does not match the pattern of an entry point
        return ""


def modules() -> dict[tuple[str, str], str]:
    """The module of each installed plugin, by distribution and name; without entry points that name none."""
    from importlib.metadata import entry_points

    found = {(supplier_of(point)[0], point.name): module_of(point) for point in entry_points(group=GROUP)}
    return {key: module for key, module in found.items() if module}


def installation_time(point: EntryPoint) -> float:
    """The time at which the metadata of the distribution were written; infinite if unknown."""
    name, version = supplier_of(point)
    try:
        folder = f"{re.sub(r'[-_.]+', '_', name)}-{version}.dist-info"
        return float(Path(str(point.dist.locate_file(folder))).stat().st_mtime) if point.dist else inf
    except OSError:
        return inf
