"""Data that change while a run measures its cells, whose results would then be of different rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from orfit_bench.bench.cell import Cell
from orfit_bench.bench.variables import stream_name
from orfit_bench.jobs.files import digest
from orfit_bench.jobs.keys import make_key
from orfit_bench.jobs.runner import Record

RunAll = Callable[[Mapping[str, Cell]], Iterable[tuple[str, Record]]]
"""Runs cells, and yields the key and the record of each as it finishes."""


def with_unchanged_files(run_all: RunAll, files: Callable[[], Iterable[Path]]) -> RunAll:
    """A function that runs cells, and raises ValueError if a file has changed before a record is stored.

    `files` returns the files from which rows are read; files that a run downloads may appear.
    """

    def run_checked(cells: Mapping[str, Cell]) -> Iterator[tuple[str, Record]]:
        known = {path: digest({"": path}) for path in files()}
        for key, record in run_all(cells):
            changed = [path for path, before in known.items() if path.exists() and digest({"": path}) != before]
            if changed:
                raise ValueError(f"{changed[0]}: this file changed while cells learned its rows: run it again")
            yield key, record

    return run_checked


def differing_rows(records: Iterable[Record]) -> str:
    """A message about a stream whose rows differ between cells; empty if there is none."""
    known: dict[str, tuple[str, int]] = {}
    for record in records:
        if record["status"] != "ok" or not record.get("rows_hash"):
            continue
        cell = record["cell"]
        stream = make_key([cell[name] for name in ("stream", "stream_settings", "seed", "protocol")])
        rows = record["rows_hash"], record["n"]
        if known.setdefault(stream, rows) != rows:
            name = stream_name(cell["stream"], cell["stream_settings"])
            return (
                f"the rows of {name!r} differ between cells, so the data changed while they were measured: run all "
                f"cells again (--fresh, or fresh=True)"
            )
    return ""
