"""The metrics of a cell, and the reasons why others were not computed."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import NamedTuple

import numpy as np

from orfit_bench.bench.views import read_only
from orfit_bench.jobs.notes import describe_error
from orfit_bench.jobs.phases import phase
from orfit_bench.plugins.discovery import is_own
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Metric, Record


class OverBudgetError(MemoryError):
    """A metric needs more memory than the budget allows."""


class Evaluation(NamedTuple):
    """The metrics of a cell: a value or None for each, notes on those not computed, and whether one lacked memory."""

    values: dict[str, float | None]
    notes: list[str]
    lacked_memory: bool


def evaluate(record: Record, memory_budget: float) -> Evaluation:
    """Compute every metric that applies.

    Metrics cannot affect each other: the arrays of the record are read-only, and a metric of another distribution gets
    its own copy of the learner.
    """
    values: dict[str, float | None] = {}
    notes, lacked_memory = [], False
    shown = _read_only(record)
    for metric in registry().metrics.values():
        try:
            with phase(f"it computed the metric {metric.name} of {_supplier(metric)}"):
                values[metric.name], note = _measure(metric, shown, memory_budget)
        except (Exception, SystemExit) as error:
            values[metric.name] = None
            note = str(error) if isinstance(error, OverBudgetError) else describe_error(error)
            lacked_memory |= isinstance(error, MemoryError)
        notes += [f"metric {metric.name}: {note}"] if note else []
    return Evaluation(values, notes, lacked_memory)


def _measure(metric: Metric, record: Record, memory_budget: float) -> tuple[float | None, str]:
    """The value of a metric, None if it does not apply or is NaN, and a note about it."""
    if not is_own(_supplier(metric)):  # its own metrics change no learner
        record = replace(record, learner=record.learner.copy())
    needed = metric.memory(record) if metric.memory else 0.0
    if needed and not isinstance(record.data.X, np.ndarray):
        needed += 8.0 * record.data.size  # rows in a file are read
    if needed > memory_budget:
        raise OverBudgetError(f"needs {needed / 1e9:.3g} GB, more than {memory_budget / 1e9:.3g} GB")
    value = metric.measure(record)
    if value is None:
        return None, ""
    if math.isnan(value):
        return None, "is NaN"
    return float(value), f"is {value}" if math.isinf(value) else ""


def _supplier(metric: Metric) -> str:
    return registry().suppliers["metrics", metric.name]


def _read_only(record: Record) -> Record:
    """The record with views of its arrays that cannot be written to."""
    arrays = {f.name: getattr(record, f.name) for f in fields(record)}
    return replace(record, **{name: read_only(a) for name, a in arrays.items() if isinstance(a, np.ndarray)})
