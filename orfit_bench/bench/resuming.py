"""Selection of the finished cells of an interrupted run that are measured again when it is resumed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from orfit_bench.bench.cell import Cell, identify_rows
from orfit_bench.bench.isolation import Limits
from orfit_bench.jobs.keys import make_key
from orfit_bench.jobs.provenance import versions
from orfit_bench.jobs.runner import Record
from orfit_bench.plugins.registry import registry


def find_cells_to_repeat(cells: Iterable[Cell], limits: Limits, finished: Mapping[str, Record]) -> list[str]:
    """The keys of finished cells whose outcome other limits might change, or that used other declarations or rows.

    Cells that failed on a worker of a cluster with other versions than here are among them. Declarations that were
    registered in this process are compared by their registration, and streams by their rows.
    """
    here = versions()
    names = {name for hook, name in registry().registrations if hook == "streams"}
    known: dict[str, dict[str, Any]] = {}
    again = []
    for cell in cells:
        if (record := finished.get(cell.key)) is None:
            continue
        other_code = record.get("registered", {}) != registrations(cell)
        other_limits = _is_limited(record) and record.get("limits") != limits._asdict()
        other_worker = record["status"] == "failed" and record.get("origin", {}).get("versions", here) != here
        if other_code or other_limits or other_worker:
            again.append(cell.key)
        elif cell.stream in names:
            rows = make_key([cell.stream, cell.stream_settings, cell.seed, asdict(cell.protocol)])
            if rows not in known:
                known[rows] = identify_rows(cell)
            if not known[rows] or any(record.get(name) != value for name, value in known[rows].items()):
                again.append(cell.key)
    return again


def used_by(cells: Iterable[Cell]) -> Iterator[tuple[str, Any]]:
    """The declarations that cells need, by hook and name, including every metric."""
    yield from (("metrics", name) for name in registry().metrics)
    for cell in cells:
        yield from (("methods", cell.method), ("backends", cell.backend), ("streams", cell.stream))
        yield "kernels", (cell.backend, cell.method)


def registrations(cell: Cell) -> dict[str, str]:
    """The keys of the declarations, except for streams, that a cell needs and that were registered in this process."""
    known = {key: value for key, value in registry().registrations.items() if key[0] != "streams"}
    return {f"{hook} {name}": known[hook, name] for hook, name in used_by([cell]) if (hook, name) in known}


def _is_limited(record: Record) -> bool:
    """Whether other limits of time and memory might change the outcome of a cell."""
    return record["status"] != "ok" or bool(record.get("lacked_memory", True))
