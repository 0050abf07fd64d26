"""Resumable runs: jobs run one after the other, and each finished one is stored immediately."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from orfit_bench.jobs.journal import Journal

Record = dict[str, Any]
"""The result of one job as JSON values, with its key in "key"."""
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
    """Run jobs, except those whose records are in the journal.

    Parameters
    ----------
    work : mapping
        The jobs by key.
    perform : callable
        Runs a job and returns its record. An exception ends the run; finished records stay in the journal.
    journal : Journal, optional
        Where finished records are stored.
    fresh : bool
        Whether to discard the records of these jobs that the journal has.
    progress : callable
        Called as progress(done, total, record): first with the number of resumed jobs and None, then after each job.

    Returns
    -------
    dict
        The records by key, in the order of `work`.
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
