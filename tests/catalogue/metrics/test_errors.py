"""Metrics of errors before, during and after learning, against values computed in another way."""

from __future__ import annotations

import itertools
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.records import N, bare_data, cell, created, measured, metric

import orfit_bench as ob
from orfit_bench.bench import Cell, Protocol
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Data


def ahead(method: str, data: Data, order: Any, **settings: Any) -> list[float]:
    """Squared a-priori errors, row by row, computed with predict."""
    learner = created(method, **settings).partial_fit(*data.cut(0, 0))
    errors = []
    for i in order:
        X, y = data.cut(i, i + 1)
        errors.append(float(np.sum((y - learner.predict(X)) ** 2)))
        learner.partial_fit(X, y)
    return errors


@pytest.mark.parametrize(
    ("method", "settings"), [("lms", {"step_size": 0.1}), ("rls", {}), ("orfit", {"batch_size": 3}), ("my_filter", {})]
)
@pytest.mark.parametrize("stream", ["regression", "drift"])
def test_a_priori_error_and_regret(method: str, settings: dict[str, Any], stream: str) -> None:
    found, data = measured(method, stream, settings), cell(method, stream).data()
    errors = ahead(method, data, range(N), **settings)
    best = np.linalg.solve(data.X.T @ data.X, data.X.T @ data.y)
    assert found["a_priori_error"] == pytest.approx(np.mean(errors), rel=1e-10)
    assert found["regret"] == pytest.approx(sum(errors) - np.sum((data.y - data.X @ best) ** 2), rel=1e-9)


def test_regret_of_the_true_weights_is_that_of_the_noise() -> None:
    """By hand: w = 2, errors 1, -1, 0; the best line through (1, 3), (1, 1), (1, 2) leaves the same 2."""
    data = Data(np.ones((3, 1)), np.array([3.0, 1.0, 2.0]))
    assert metric("regret", data=data, a_priori=np.array([1.0, 1.0, 0.0])) == pytest.approx(0, abs=1e-14)
    assert metric("a_priori_error", data=data, a_priori=np.array([1.0, 1.0, 0.0])) == pytest.approx(2 / 3)


def test_repeated_rows_do_not_count_as_a_priori() -> None:
    once, twice = (measured("lms", protocol=Protocol(passes)) for passes in (1, 2))
    assert once["a_priori_error"] == twice["a_priori_error"]
    assert once["regret"] == twice["regret"]
    assert twice["mean_squared_error"] < once["mean_squared_error"]


def test_each_of_several_learners_predicts_its_own_rows() -> None:
    data, errors = cell("lms").data(), np.zeros(N)
    learners = [created("lms", step_size=0.1).partial_fit(*data.cut(0, 0)) for _ in range(2)]
    for i in range(N):
        X, y = data.cut(i, i + 1)
        errors[i] = np.sum((y - learners[i % 2].predict(X)) ** 2)
        learners[i % 2].partial_fit(X, y)
        if i % 10 == 9:
            ob.average(learners)
    found = measured("lms", settings={"step_size": 0.1}, protocol=Protocol(1, 2, 5))
    assert found["a_priori_error"] == pytest.approx(errors.mean(), rel=1e-12)


def test_missing_rows_of_a_filter_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    data = cell("my_filter").data()
    y = data.y.copy()  # type: ignore[union-attr]
    y[[0, 7, 8, 30]] = np.nan
    holed = replace(data, y=y, tasks=())
    monkeypatch.setattr(Cell, "data", lambda self: holed)
    found = measured("my_filter")
    seen = ~np.isnan(y).any(axis=1)
    errors = np.array(ahead("my_filter", holed, range(N)))
    X, Y = data.X[seen], y[seen]
    best = np.linalg.solve(X.T @ X, X.T @ Y)
    final = created("my_filter").partial_fit(data.X, y).predict(X)
    assert measured("my_filter", settings={"process_noise": 0.0})["inverse_gram_error"] < 1e-12
    assert found["a_priori_error"] == pytest.approx(errors[seen].mean(), rel=1e-12)
    assert found["regret"] == pytest.approx(errors[seen].sum() - np.sum((Y - X @ best) ** 2), rel=1e-9)
    assert found["mean_squared_error"] == pytest.approx(np.sum((Y - final) ** 2) / seen.sum(), rel=1e-12)


@pytest.mark.parametrize("method", ["lms", "my_filter"])
def test_mean_squared_error(method: str) -> None:
    data = cell(method).data()
    error = created(method).partial_fit(data.X, data.y).predict(data.X) - data.y
    assert measured(method)["mean_squared_error"] == pytest.approx(np.linalg.norm(error) ** 2 / N, rel=1e-12)


def of_rows(kind: str, learner: Any, X: Any, y: Any) -> float:
    """The mean error, by another formula than that of the benchmark."""
    if kind == "classification":
        scores = np.asarray(learner.decision_function(X))
        return sum(learner.classes_[np.argmax(s)] != t for s, t in zip(scores, y, strict=True)) / len(X)
    if kind == "subspace":
        C = learner.components_
        return float(np.trace(X @ (np.eye(len(C.T)) - C.T @ C) @ X.T) / len(X))
    return float(np.linalg.norm(learner.predict(X) - y) ** 2 / len(X))


@pytest.mark.parametrize(
    ("method", "stream"),
    [("lms", "drift"), ("my_filter", "drift"), ("my_labels", "classes"), ("my_subspace", "bare")],
)
def test_forgetting_is_the_increase_since_a_task_was_learned(method: str, stream: str) -> None:
    data, kind = cell(method, stream).data(), ob.methods()[method].kind
    learner, ends = created(method), data.tasks[1:]
    then, last = [], []
    for a, b in itertools.pairwise(data.tasks):
        rows = data.cut(a, b)
        then.append(of_rows(kind, learner.partial_fit(*rows), *rows))
    for a, b in itertools.pairwise(data.tasks):
        last.append(of_rows(kind, learner, *data.cut(a, b)))
    grown = [last[i] - then[i] for i in range(len(ends) - 1)]
    found = measured(method, stream)
    assert found["forgetting"] == pytest.approx(sum(grown) / len(grown), rel=1e-9, abs=1e-12)
    assert found["backward_transfer"] == -found["forgetting"]
    assert found["forgetting"] <= len(ends) / (len(ends) - 1) * np.mean(last) + 1e-12  # survey, after E_t


def test_forgetting_is_zero_for_methods_that_forget_nothing() -> None:
    E = np.array([[0.0, np.nan, np.nan], [1.0, 2.0, np.nan], [0.5, 5.0, 9.0]])
    assert metric("forgetting", task_error=E) == ((0.5 - 0) + (5 - 2)) / 2
    assert metric("backward_transfer", task_error=E) == -1.75
    assert registry().metrics["backward_transfer"].better == "higher"
    for few in (np.zeros((0, 0)), np.zeros((1, 1))):
        assert metric("forgetting", task_error=few) is None
        assert metric("backward_transfer", task_error=few) is None


@pytest.mark.parametrize(
    ("method", "stream"),
    [("rls", "regression"), ("my_filter", "regression"), ("my_labels", "classes"), ("my_subspace", "bare")],
)
def test_test_error_is_the_error_of_the_kind(method: str, stream: str) -> None:
    data, kind = cell(method, stream).data(), ob.methods()[method].kind
    learner = created(method).partial_fit(data.X, data.y)
    want = of_rows(kind, learner, *data.test)  # type: ignore[misc]
    found = measured(method, stream)["test_error"]
    assert found == pytest.approx(want if kind in ("classification", "subspace") else np.sqrt(want), rel=1e-9)
    assert found > 0


@pytest.mark.parametrize("stream", ["bare", "regression", "classes"])
def test_compression_loss_and_its_excess(stream: str) -> None:
    """Computed from traces and eigenvalues of the second moment, whatever else the stream offers."""
    X = cell("my_subspace", stream).data().X
    C = created("my_subspace").partial_fit(X).components_
    S = X.T @ X / len(X)
    loss, best = np.trace(S) - np.trace(C @ S @ C.T), np.sum(np.linalg.eigvalsh(S)[:-2])
    found = measured("my_subspace", stream)
    assert found["compression_loss"] == pytest.approx(loss, rel=1e-12)
    assert found["excess_loss"] == pytest.approx(100 * (loss / best - 1), rel=1e-9)
    assert found["excess_loss"] > 0


def test_excess_loss_of_the_best_subspace_is_zero() -> None:
    X = bare_data().X
    learner = SimpleNamespace(method=ob.methods()["oja"], settings={"n_components": 2})
    best = float(np.sum(np.linalg.svd(X, compute_uv=False)[2:] ** 2) / N)
    given = {"data": Data(X), "learner": learner, "stream_error": best}
    assert metric("excess_loss", **given) == pytest.approx(0, abs=1e-9)
    learner.settings["n_components"] = 5
    assert metric("excess_loss", **given) is None  # nothing is lost, so nothing to compare with


def test_a_test_error_that_is_no_number_is_not_a_missing_test_set() -> None:
    X, y = np.ones((2, 1)), np.ones(2)
    assert metric("test_error", data=Data(X, y), test_error=np.array([np.nan])) is None
    assert np.isnan(metric("test_error", data=Data(X, y, test=(X, y)), test_error=np.array([np.nan])) or 0.0)
