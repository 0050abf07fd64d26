"""Resumable runs: each finished job is stored immediately."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from orfit_bench.jobs.journal import Journal

Record = dict[str, Any]
"""The result of one job as JSON values, with its key in "key"."""
Progress = Callable[[int, int, Record | None], None]
Work = TypeVar("Work")


def one_by_one(perform: Callable[[Work], Record]) -> Callable[[Mapping[str, Work]], Iterator[tuple[str, Record]]]:
    """A function that performs jobs one after the other, for `run_resumable`."""
    return lambda work: ((key, perform(item)) for key, item in work.items())


def run_resumable(
    work: Mapping[str, Work],
    perform: Callable[[Mapping[str, Work]], Iterable[tuple[str, Record]]],
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
        Runs jobs and yields the key and the record of each as it finishes. An exception ends the run; finished records
        stay in the journal.
    journal : Journal, optional
        Where finished records are stored.
    fresh : bool
        Whether to discard existing records of these jobs in the journal.
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
    for key, found in perform({key: item for key, item in work.items() if key not in records}):
        records[key] = record = {"key": key} | found | {"key": key}  # first in files, and not the key of a worker
        if journal:
            journal.write(record)
        progress(len(records), len(work), record)
    return {key: records[key] for key in work}
