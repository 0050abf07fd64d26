"""Defects of metrics and experiments, each as a sentence for the author."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

import orfit_bench as ob
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Data, Experiment, Metric, Record
from orfit_bench.spec.metric import TOLERATED, Direction

ROWS, FEATURES = 40, 3
ROUNDING = 1e-9
"""The largest relative difference of two calls with the same record."""
KINDS_OF_RECORDS = ("rls", "class_rls", "oja")
"""A regression, a classification and a subspace."""


def find_metric_defects(metric: Metric) -> Iterator[str]:
    """Yield the defects: an unknown direction, values that are not finite or that differ, changed records."""
    directions = get_args(Direction)
    if metric.better not in directions:
        yield f"better={metric.better!r}, want one of {', '.join(directions)}"
    found = _measured(metric, KINDS_OF_RECORDS)
    if all(value is None for value in found.values.values()):
        others = [
            name
            for name in registry().methods
            if not registry().suppliers.get(("methods", name), "").startswith("orfit-bench ")
        ]
        found = found.joined(_measured(metric, others))
    if all(value is None for value in found.values.values()):
        unusual = _measured(metric, KINDS_OF_RECORDS, unusual=True)
        found = found._replace(values={name: unusual.values.get(name, value) for name, value in found.values.items()})
    if all(value is None for value in found.values.values()):
        yield f"it is None for each of {', '.join(found.values)}, so no table would show it"
    for method, value in found.values.items():
        if value is not None and not _is_finite(value):
            yield f"it is {value!r} for {method} on the reference backend, want a finite number or None"
    for method, value in _measured(metric, KINDS_OF_RECORDS, has_test=False).values.items():
        if value is not None and not _is_finite(value):
            yield f"it is {value!r} for {method} on a stream without a test set, want a finite number or None"
    for method, needed in found.memory.items():
        if not (_is_finite(needed) and needed >= 0):
            yield f"memory returned {needed!r} for {method}, want a number of bytes"
    is_of_times = metric.tolerated > TOLERATED  # which differ from call to call
    for method in [] if is_of_times else [name for name in found.again if name not in found.changed]:
        values = found.values[method], found.again[method]
        if all(map(_is_finite, values)) and not math.isclose(*values, rel_tol=ROUNDING):
            yield f"two calls of measure for the same record of {method} give {values[0]!r} and {values[1]!r}"
    if found.changed:
        yield f"measure changed record.learner ({', '.join(found.changed)}): let it work on record.learner.copy()"


def _is_finite(value: object) -> bool:
    """Whether the value is a finite real number in float64."""
    return isinstance(value, (int, float, np.integer, np.floating)) and math.isfinite(value)


class MeasuredRecords(NamedTuple):
    """The results of a metric for the records of some methods."""

    values: dict[str, Any]
    again: dict[str, Any]
    """The results of a second call of `measure`."""
    memory: dict[str, Any]
    """The return values of its `memory`."""
    changed: list[str]
    """The methods whose learner the metric changed."""

    def joined(self, other: MeasuredRecords) -> MeasuredRecords:
        """The results of these and other methods together."""
        return MeasuredRecords(
            self.values | other.values,
            self.again | other.again,
            self.memory | other.memory,
            self.changed + other.changed,
        )


def _measured(metric: Metric, methods: Iterable[str], has_test: bool = True, unusual: bool = False) -> MeasuredRecords:
    """The results of the metric for the records of these methods, if they can learn."""
    found = MeasuredRecords({}, {}, {}, [])
    for record in _records(methods, has_test, unusual):
        name, before = record.learner.rule.method.name, record.learner.state().copy(deep=True)
        if metric.memory:
            found.memory[name] = metric.memory(record)
        found.values[name], found.again[name] = metric.measure(record), metric.measure(record)
        if not record.learner.state().identical(before):
            found.changed.append(name)
    return found


def _read_only(values: Any) -> NDArray[Any]:
    """A read-only array, as in the records of a run."""
    array = np.array(values)
    array.flags.writeable = False
    return array


def _targets(method: str, Y: NDArray[Any], unusual: bool) -> NDArray[Any] | None:
    """Targets for a method, from random numbers Y (n, 2); unusual ones are three texts, or two outputs."""
    traits = registry().methods[method].traits
    if not traits.supervised:
        return None
    if traits.labels:
        return np.array(["a", "b", "c"])[np.digitize(Y[:, 0], [-0.5, 0.5])] if unusual else (Y[:, 0] > 0).astype(int)
    return Y if unusual else Y[:, 0]


def _records(methods: Iterable[str], has_test: bool, unusual: bool) -> Iterator[Record]:
    """Records of learners of these methods, with two tasks and maybe a test set, without those that cannot learn."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((ROWS, FEATURES)), rng.standard_normal((ROWS, 2))
    for method in methods:
        targets = _targets(method, Y, unusual)
        rows = _read_only(X)
        learned, held_out = (None, None) if targets is None else (_read_only(targets[:30]), _read_only(targets[30:]))
        data = Data(rows[:30], learned, test=(rows[30:], held_out) if has_test else None, tasks=(0, 15, 30))
        try:
            learner = ob.create(method, backend="numpy").partial_fit(data.X, data.y)
        except Exception:  # the checks of this method report it
            continue
        yield Record(
            data=data,
            learner=learner,
            seconds=0.01,
            rows_learned=30,
            rows=_read_only([15, 30]),
            test_error=_read_only([0.5, 0.25] if has_test else [np.nan, np.nan]),
            task_error=_read_only([[0.5, np.nan], [0.4, 0.3]]),
            stream_error=0.4,
            a_priori=_read_only([0.5] * 30) if method == "rls" else None,
            latency=_read_only([1e-4] * 10),
            host_bytes=1e4,
            device_bytes=1e4 if method == "rls" else None,
            limit=1e6,
        )


def find_experiment_defects(experiment: Experiment) -> Iterator[str]:
    """Yield the defects: a runner that cannot be imported or called."""
    module, _, function = experiment.runner.partition(":")
    try:
        runner = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        yield f"the runner {experiment.runner!r} cannot be imported: {error}"
    else:
        if not callable(runner):
            yield f"the runner {experiment.runner!r} is {type(runner).__name__}, want a function"
