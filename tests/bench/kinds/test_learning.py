"""Cells of every kind of method."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import xarray as xr
from helpers.plans import BARE, cells

import orfit_bench as ob
from orfit_bench.bench import Cell, Protocol, Suite, learning, run, run_cell


@pytest.mark.parametrize(
    ("method", "stream"),
    [("my_labels", "class_digits"), ("my_subspace", "drift"), ("my_filter", "drift"), ("my_layers", "drift")],
)
def test_cell_of_every_kind_has_finite_errors(method: str, stream: str) -> None:
    (one,) = cells(method, streams=[stream], rows=[60])
    record = run_cell(one)
    assert record["status"] == "ok", record["reason"]
    assert record["notes"] == []
    errors, tasks = np.array(record["test_error"]), np.array(record["task_error"])
    assert len(errors) == 25
    assert np.isfinite(errors).all()
    assert errors[-1] == record["metrics"]["test_error"]
    assert np.isfinite(tasks[np.tril_indices(len(tasks))]).all()
    json.dumps(record)


def test_error_of_a_classifier_is_recorded_from_the_first_row_on() -> None:
    """Classes come one after another: no prediction of the tenth is right before its first row."""
    record = run_cell(Cell("my_labels", "numpy", "class_digits", stream_settings={"n": 30}))
    data = ob.streams()["class_digits"].load(n=30)
    learner, k = ob.create("my_labels").partial_fit(*data.cut(0, 6)), record["rows_learned"].index(6)
    wrong = sum(found != label for found, label in zip(learner.predict(data.test[0]), data.test[1], strict=True))  # type: ignore[index]
    assert record["test_error"][k] == pytest.approx(wrong / len(data.test[1]), rel=1e-12)  # type: ignore[arg-type, index]
    assert record["test_error"][0] > 0.8


@pytest.mark.parametrize("round_", [1, 4, 7, None])
def test_averaging_of_subspaces_equals_averaging_by_hand(round_: int | None) -> None:
    data, protocol = ob.streams()["digits"].load(n=50), Protocol(learners=3, round=round_)
    learners = learning.initialize(lambda: ob.create("my_subspace"), data, protocol)
    learning.learn_and_record(learners, data, protocol)
    hand = [ob.create("my_subspace") for _ in range(3)]
    block = 3 * (round_ or len(data.X))
    for begin in range(0, 50, block):
        for j, learner in enumerate(hand):
            learner.partial_fit(data.X[begin : begin + block][j::3])
        ob.average(hand)
    for got, want in zip(learners, hand, strict=True):
        xr.testing.assert_identical(got.state(), want.state())
    C = learners[0].array("basis")
    np.testing.assert_allclose(C.T @ C, np.eye(2), atol=1e-12)


def test_rounds_of_a_method_without_an_average_are_refused() -> None:
    done = run(Suite(["my_subspace", "my_labels"], ["numpy"], protocol=Protocol(learners=2, round=9)), isolate=False)
    message = dict(zip(done["method"].values, done["reason"].values, strict=True))
    assert message == {"my_subspace": "", "my_labels": "my_labels: an average of its states is not defined"}


def test_rows_without_targets_are_learned() -> None:
    record = run_cell(Cell("my_subspace", "numpy", "bare"))
    assert record["status"] == "ok", record["reason"]
    assert np.isnan(record["test_error"]).all()
    assert record["metrics"]["test_error"] is None
    assert record["metrics"]["compression_loss"] > 0


@pytest.mark.parametrize(
    "order", [lambda data: ob.sampling.uniform(data, 9), lambda data: ob.sampling.reshuffled(data, 3)]
)
def test_rows_without_targets_are_sampled(order: Any) -> None:
    data = BARE.load()
    visited = order(data)
    assert visited.y is None
    X = np.concatenate([X for X, y in visited.chunks(2) if y is None])
    assert len(X) == len(visited.X)
    assert {tuple(row) for row in X} <= {tuple(row) for row in data.X}
