"""Deviations of the weights and of P from the batch solution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.records import N, cell, created, measured, metric

import orfit_bench as ob
from orfit_bench.bench import Protocol
from orfit_bench.spec import Data


@pytest.mark.parametrize("n", [2, N])
@pytest.mark.parametrize("ff", [0.9, 1.0, 1.1])
def test_deviation_of_p(ff: float, n: int) -> None:
    """P of rls, and a P that is off by a known share, on the span of the rows, also with fewer rows than features."""
    rng = np.random.default_rng(4)
    data = Data(rng.standard_normal((n, 3)), np.zeros(n))
    learner = created("rls", forgetting_factor=ff, ridge=0.5).partial_fit(data.X, data.y)
    given = {"data": data, "rows_learned": n}
    assert metric("inverse_gram_error", learner=learner, **given) < 1e-12  # type: ignore[operator]
    weights = ff ** np.arange(n - 1, -1, -1.0)
    exact = np.linalg.inv((data.X.T * weights) @ data.X + ff**n * 0.5 * np.eye(3))
    state = learner.state()
    np.testing.assert_allclose(state["P"], exact, rtol=1e-10, atol=1e-12)
    state["P"] *= 1 + 1e-3
    assert metric("inverse_gram_error", learner=ob.restore(state), **given) == pytest.approx(1e-3, rel=1e-6)


def test_p_outside_the_span_of_the_rows_is_ignored() -> None:
    data = Data(np.array([[1.0, 0, 0], [0, 2.0, 0], [1.0, 1.0, 0]]), np.zeros(3))
    state = created("rls").partial_fit(data.X, data.y).state()
    state["P"][2, 2] = 7.0
    given = {"data": data, "rows_learned": 3}
    assert metric("inverse_gram_error", learner=ob.restore(state), **given) < 1e-12  # type: ignore[operator]
    state["P"][0, 0] *= 2
    assert metric("inverse_gram_error", learner=ob.restore(state), **given) > 0.1  # type: ignore[operator]


@pytest.mark.parametrize(
    ("method", "settings", "protocol", "applies"),
    [
        ("rls", {}, Protocol(), True),
        ("rls", {"forgetting_factor": 0.97}, Protocol(), True),
        ("rls", {"forgetting_factor": 0.0}, Protocol(), False),
        ("rls", {}, Protocol(2), False),
        ("lms", {}, Protocol(), False),
        ("my_filter", {"process_noise": 0.0}, Protocol(), True),
        ("my_filter", {}, Protocol(), False),
        ("kalman", {"initial_covariance": [[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 3.0]]}, Protocol(), True),
        ("kalman", {"observation_noise": 0.25}, Protocol(), True),
        ("kalman", {"initial_covariance": [1.0, 0.0, 1.0]}, Protocol(), False),
        ("kalman", {"observation_noise": 0.0}, Protocol(), False),
        ("kalman", {"transition": 0.9}, Protocol(), False),
    ],
)
def test_deviation_of_p_needs_a_declared_inverse_gram(
    method: str, settings: dict[str, Any], protocol: Protocol, applies: bool
) -> None:
    found = measured(method, settings=settings, protocol=protocol)["inverse_gram_error"]
    assert (found < 1e-12) if applies else (found is None)


def test_deviation_of_p_of_a_classifier() -> None:
    assert measured("class_rls", "classes", {"forgetting_factor": 0.9})["inverse_gram_error"] < 1e-12


def test_overflowing_p_has_no_deviation() -> None:
    rows = ob.methods()["rls"].theory.inverse_gram[1]  # type: ignore[index]
    settings = {"forgetting_factor": 2.0, "ridge": 1.0}
    assert rows(np.ones((900, 1)), settings) is not None
    assert rows(np.ones((2000, 1)), settings) is None


@pytest.mark.parametrize(
    ("method", "stream", "settings"),
    [("my_labels", "classes", {}), ("my_filter", "regression", {"process_noise": 0.0}), ("rls", "regression", {})],
)
def test_deviation_of_weights_of_every_kind(method: str, stream: str, settings: dict[str, Any]) -> None:
    assert measured(method, stream, settings)["deviation"] < 1e-12
    method_ = ob.methods()[method]
    data = cell(method, stream).data()
    learner = created(method, **settings).partial_fit(data.X, data.y)
    state = learner.state()
    state[method_.state.weights] *= 1.25
    off = metric("deviation", data=data, learner=ob.restore(state), rows_learned=N)
    assert off == pytest.approx(0.25, rel=1e-9)
