"""Cells and records of the tests of metrics."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

import orfit_bench as ob
from orfit_bench.bench import Cell, Protocol, run_cell
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Data, Record, Stream

N, D = 40, 3
NUMBERS = {"n": N, "d": D, "outputs": 2, "noise": 0.3}


def classes_data() -> Data:
    """Two classes in a row, then both; strings, and a test set."""
    rng = np.random.default_rng(1)
    y = np.array(["b"] * 10 + ["a"] * 10 + ["a", "b"] * 10)
    X = rng.standard_normal((N, D)) + np.where(y == "a", 0.3, -0.3)[:, None]
    return Data(X, y, (X[::-3], y[::-3]), tasks=(0, 10, 20, N))


def bare_data() -> Data:
    """Rows without targets, with a decreasing spectrum, in three tasks."""
    X = np.random.default_rng(2).standard_normal((N, 5)) * [3.0, 2.0, 1.0, 0.5, 0.1]
    return Data(X, None, (X[::4] + 0.1, None), tasks=(0, 15, 30, N))


class Streams:
    SPEC_VERSION = (1, 0)

    @ob.hookimpl
    def streams(self) -> Any:
        return [
            Stream("classes", "", classes_data, offers="labels"),
            Stream("bare", "", bare_data, offers="rows"),
        ]


def cell(method: str, stream: str = "regression", settings: Any = (), protocol: Protocol | None = None) -> Cell:
    sizes = {"regression": NUMBERS, "drift": {"n": N, "d": D, "outputs": 2}}.get(stream, {})
    return Cell(method, "numpy", stream, dict(settings), sizes, protocol=protocol or Protocol())


def measured(*arguments: Any, **more: Any) -> dict[str, Any]:
    record = run_cell(cell(*arguments, **more))
    assert record["status"] == "ok", record["reason"]
    assert record["notes"] == [], record["notes"]
    metrics: dict[str, Any] = record["metrics"]
    return metrics


def created(method: str, **settings: Any) -> Any:
    return ob.create(method, **settings)


def recorded(**given: Any) -> Record:
    """A record with only the values that a metric reads."""
    learner = SimpleNamespace(method=ob.methods()["lms"])
    empty = dict.fromkeys(
        ("data", "learner", "seconds", "rows_learned", "rows", "test_error", "task_error", "stream_error", "a_priori")
    )
    more = {"latency": np.zeros(0), "host_bytes": 0.0, "device_bytes": None}
    return Record(**{**empty, "learner": learner, **more, **given})


def metric(name: str, **given: Any) -> float | None:
    return registry().metrics[name].measure(recorded(**given))
