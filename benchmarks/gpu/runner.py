"""Run the units of all parts, one after another, until all are done or the time is over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from benchmarks.gpu.units import DONE, FAILED, LEFT, Found, Journal, Part, Unit, status
from benchmarks.gpu.workers import Worker

SHOWN = 100
"""Largest number of characters of the results of a unit on the terminal."""


@dataclass
class Call:
    """One call: the folder of its files, its deadline, and its machine."""

    folder: Path
    minutes: float
    again: bool = False
    """Whether to run only the units that failed."""
    where: dict[str, Any] = field(default_factory=dict)
    say: Callable[[str], None] = lambda text: print(text, flush=True)
    began: float = field(default_factory=monotonic)

    def left(self) -> float:
        """The seconds that are left."""
        return self.began + 60 * self.minutes - monotonic()

    def journal(self, part: Part) -> Journal:
        """The file of a part."""
        return Journal(self.folder / f"{part.name}.jsonl")


def run(call: Call, parts: Sequence[Part]) -> None:
    """Run the chosen units; one that fails, hangs or crashes only loses its own result."""
    first = True
    for part in parts:
        journal, units = call.journal(part), chosen(call, part)
        if units and call.left() > 0:
            journal.write(where=call.where)
        with Worker() as worker:
            for number, unit in enumerate(units, 1):
                if call.left() <= 0:
                    return
                call.say(f"[{part.name} {number}/{len(units)}] {unit.name}")
                done(call, journal, unit, worker, first)
                first = False


def chosen(call: Call, part: Part) -> list[Unit]:
    """The units that are left, or with `again` those that failed; the one that was tried last comes at the end."""
    found = call.journal(part).found()
    if not call.again:
        return [unit for unit in part.units if status(unit, found) == LEFT]
    failed = [unit for unit in part.units if status(unit, found) == FAILED]
    return sorted(failed, key=lambda unit: found[unit.name].number)


def done(call: Call, journal: Journal, unit: Unit, worker: Worker, first: bool) -> None:
    """Run one unit and write its outcome."""
    begin, seconds = monotonic(), min(unit.limit, call.left())

    def keep(results: dict[str, Any]) -> None:
        journal.write(unit=unit.name, results=results)
        if text := short({name: value for name, value in results.items() if name != "trace"}):
            call.say(f"    {text}")

    journal.begin(unit)
    status, why = worker.do(unit, seconds, keep)
    if status == LEFT and (seconds >= unit.limit or first):  # otherwise it gets all of the next call
        status, why = FAILED, why if seconds >= unit.limit else f"{why}, the call: choose more --minutes"
    journal.write(unit=unit.name, status=status, why=why, seconds=round(monotonic() - begin, 3))
    if status != DONE:
        call.say(f"    {status}: {why}")


def short(results: dict[str, Any]) -> str:
    """The results in one line."""
    text = ", ".join(f"{name} {plain(value)}" for name, value in results.items())
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} ..."


def plain(value: Any) -> str:
    """A value in readable form."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def counts(part: Part, found: dict[str, Found]) -> dict[str, list[Unit]]:
    """The units by their outcome."""
    by: dict[str, list[Unit]] = {DONE: [], FAILED: [], LEFT: []}
    for unit in part.units:
        by[status(unit, found)].append(unit)
    return by


def summary(call: Call, parts: Iterable[Part]) -> Iterator[str]:
    """Lines that say how much of each part is done, and what failed."""
    for part in parts:
        found = call.journal(part).found()
        by = counts(part, found)
        yield f"{part.name:15}" + ", ".join(f"{len(units)} {name}" for name, units in by.items() if units)
        yield from (f"    failed: {unit.name}: {found[unit.name].why}" for unit in by[FAILED])
        if by[LEFT]:
            few = "; ".join(unit.name for unit in by[LEFT][:3])
            yield f"    left: {few}" + (f"; and {len(by[LEFT]) - 3} more" if len(by[LEFT]) > 3 else "")
