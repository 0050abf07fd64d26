"""Data that change while a run measures its cells, whose results would then be of different rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from orfit_bench.bench.variables import stream_name
from orfit_bench.jobs.files import digest
from orfit_bench.jobs.keys import make_key
from orfit_bench.jobs.runner import Record


def file_digests(files: Iterable[Path]) -> dict[Path, str]:
    """Hashes of the contents of these files."""
    return {path: digest({"": path}) for path in files}


def check_unchanged(known: Mapping[Path, str]) -> None:
    """Raise ValueError if a file has other contents than when `file_digests` read it; it may be missing."""
    for path, before in known.items():
        if path.exists() and digest({"": path}) != before:
            raise ValueError(f"{path}: this file changed while cells learned its rows: run it again")


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
                f"cells again (--fresh, or fresh=True). A stream of a plugin must draw random numbers from its "
                f"setting seed, so that all cells get the same rows"
            )
    return ""
