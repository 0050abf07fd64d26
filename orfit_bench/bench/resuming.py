"""Selection of the finished cells of an interrupted run that are measured again when it is resumed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from typing import Any

from orfit_bench.bench.cell import Cell, identify_rows
from orfit_bench.bench.isolation import Limits
from orfit_bench.jobs.keys import make_key
from orfit_bench.jobs.runner import Record
from orfit_bench.spec import Stream


def not_resumed(
    cells: Iterable[Cell], streams: Collection[Stream], limits: Limits, finished: Mapping[str, Record]
) -> list[str]:
    """The keys of finished cells whose outcome other limits might change, or that learned other rows.

    Only `streams`, which are objects of this process, can have equal declarations but other rows.
    """
    names, known = {stream.name for stream in streams}, dict[str, dict[str, Any]]()
    again = []
    for cell in cells:
        if (record := finished.get(cell.key)) is None:
            continue
        if _is_limited(record) and record.get("limits") != limits._asdict():
            again.append(cell.key)
        elif cell.stream in names:
            rows = make_key([cell.stream, cell.stream_settings, cell.seed, asdict(cell.protocol)])
            if rows not in known:
                known[rows] = identify_rows(cell)
            if not known[rows] or any(record.get(name) != value for name, value in known[rows].items()):
                again.append(cell.key)
    return again


def _is_limited(record: Record) -> bool:
    """Whether other limits of time and memory might change the outcome of a cell."""
    return record["status"] != "ok" or bool(record.get("lacked_memory", True))
