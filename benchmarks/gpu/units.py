"""Units to measure one after another, and their outcomes in files of JSON lines that survive a kill."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

LEFT, DONE, FAILED = "left", "done", "failed"


class Unit(NamedTuple):
    """One measurement: a function of a module, "module:function", and its arguments, which JSON can represent."""

    name: str
    call: str
    arguments: dict[str, Any]
    limit: float
    """Time limit in seconds."""
    method: str = ""
    case: str = ""
    how: Mapping[str, Any] = MappingProxyType({})
    """Further arguments, which affect the run time but not the results."""


class Part(NamedTuple):
    """Units that are measured in this order."""

    name: str
    units: list[Unit]


@dataclass
class Found:
    """The outcome of a unit: its results, also those before it failed, and the machine."""

    arguments: dict[str, Any]
    where: dict[str, Any]
    date: str
    number: int
    """The number of its last attempt, counted through the file."""
    status: str = LEFT
    why: str = ""
    results: dict[str, Any] = field(default_factory=dict)


class Journal:
    """The file of one part. Lines are written immediately; a line that was cut off by a kill is ignored when read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, **line: Any) -> None:
        """Append a line, after a line break if the last line is incomplete."""
        with self.path.open("ab+") as file:
            file.seek(max(0, file.tell() - 1))
            cut = file.read(1) not in (b"", b"\n")
            file.write(("\n" * cut + json.dumps(line) + "\n").encode())

    def lines(self) -> Iterable[dict[str, Any]]:
        """All complete lines."""
        if not self.path.exists():
            return
        for text in self.path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                line = json.loads(text)
            except ValueError:
                continue
            if isinstance(line, dict):
                yield line

    def found(self) -> dict[str, Found]:
        """The outcome of each unit that was started, by its name."""
        where: dict[str, Any] = {}
        found: dict[str, Found] = {}
        for number, line in enumerate(self.lines()):
            if "where" in line:
                where = line["where"]
            elif "arguments" in line:
                found[line["unit"]] = Found(line["arguments"], where, line["date"], number)
            elif one := found.get(line.get("unit", "")):
                one.results |= line.get("results", line.get("told", {}))  # "told" in files of earlier versions
                one.status, one.why = line.get("status", one.status), line.get("why", one.why)
        return found

    def begin(self, unit: Unit) -> None:
        """Record that a unit has started; without a line that ends it, it counts as not done."""
        date = datetime.now(UTC).isoformat(timespec="seconds")
        self.write(unit=unit.name, arguments=unit.arguments, date=date)


def status(unit: Unit, found: dict[str, Found]) -> str:
    """LEFT, DONE or FAILED; LEFT if the unit was done with other arguments."""
    one = found.get(unit.name)
    return one.status if one and one.arguments == unit.arguments else LEFT
