"""Running many pieces of work one after the other, each finished one kept at once, so that a killed run can go on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from orfit_bench.jobs.journal import Journal

Record = dict[str, Any]
"""What became of one piece of work, as plain values, with its key in "key"."""
Progress = Callable[[int, int, Record | None], None]
Work = TypeVar("Work")


def run_resumable(
    work: Mapping[str, Work],
    perform: Callable[[Work], Record],
    journal: Journal | None = None,
    *,
    fresh: bool = False,
    progress: Progress = lambda done, total, record: None,
) -> dict[str, Record]:
    """The record of every piece of work, by its key: taken from the journal where it is there, else from perform().

    `fresh` forgets what the journal has of them. progress(done, all, record) is called once with None and the number of
    records taken over, then after each piece. What perform raises ends the run; the finished records are kept.
    """
    if journal and fresh:
        journal.remove(work)
    kept = journal.read() if journal else {}
    records = {key: kept[key] for key in work if key in kept}
    progress(len(records), len(work), None)
    for key, item in work.items():
        if key in records:
            continue
        records[key] = record = {"key": key, **perform(item)}
        if journal:
            journal.write(record)
        progress(len(records), len(work), record)
    return {key: records[key] for key in work}
