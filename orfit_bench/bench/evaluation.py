"""The metrics of a cell, and the reasons why others were not computed."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import numpy as np

from orfit_bench.jobs.notes import describe_error
from orfit_bench.jobs.phases import phase
from orfit_bench.plugins.discovery import OWN
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Metric, Record

REFUSED = " GB, more than "
"""Part of the note about a metric that was not computed because of its memory."""


def evaluate(record: Record, memory_budget: float) -> tuple[dict[str, float | None], list[str]]:
    """The value of every metric, or None if it does not apply, and notes on metrics that were not computed.

    Metrics cannot affect each other: the arrays of the record are read-only, and a metric of another distribution gets
    its own copy of the learner.
    """
    values: dict[str, float | None] = {}
    notes = []
    shown = _read_only(record)
    for metric in registry().metrics.values():
        try:
            with phase(f"it computed the metric {metric.name} of {_supplier(metric)}"):
                values[metric.name], note = _measure(metric, shown, memory_budget)
        except (Exception, SystemExit) as error:
            values[metric.name], note = None, describe_error(error)
        notes += [f"metric {metric.name}: {note}"] if note else []
    return values, notes


def _measure(metric: Metric, record: Record, memory_budget: float) -> tuple[float | None, str]:
    """The value of a metric, None if it does not apply or cannot be computed, and a note about it."""
    if not _is_own(metric):
        record = replace(record, learner=record.learner.copy())
    needed = metric.memory(record) if metric.memory else 0.0
    if needed and not isinstance(record.data.X, np.ndarray):
        needed += 8.0 * record.data.X.size  # rows in a file are read
    if needed > memory_budget:
        return None, f"needs {needed / 1e9:.3g}{REFUSED}{memory_budget / 1e9:.3g} GB"
    value = metric.measure(record)
    if value is None:
        return None, ""
    return (None, "is NaN") if math.isnan(value) else (float(value), "")


def _is_own(metric: Metric) -> bool:
    """Whether this package supplies the metric. Its own metrics change no learner."""
    return _supplier(metric).rpartition(" ")[0] == OWN


def _supplier(metric: Metric) -> str:
    return registry().suppliers["metrics", metric.name]


def _read_only(record: Record) -> Record:
    """The record with views of its arrays that cannot be written to."""

    def view(array: Any) -> Any:
        shown = array.view()
        shown.flags.writeable = False
        return shown

    arrays = {f.name: getattr(record, f.name) for f in fields(record)}
    return replace(record, **{name: view(a) for name, a in arrays.items() if isinstance(a, np.ndarray)})
