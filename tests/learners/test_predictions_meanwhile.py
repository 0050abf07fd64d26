"""Predictions by another thread while rows are learned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.cases import installed

import orfit_bench as ob

BACKENDS = pytest.mark.parametrize("backend", ["numpy", "numba"])


def predict_meanwhile(patch: pytest.MonkeyPatch, kernel: Any, verb: str, predict: Callable[[], Any]) -> list[Any]:
    """Let `predict` be called before and after the kernel learns; returns the list of its results."""
    learn, found = getattr(kernel, verb), list[Any]()

    def learn_and_predict(*arguments: Any) -> Any:
        found.append(predict())
        learned = learn(*arguments)
        found.append(predict())
        return learned

    patch.setattr(kernel, verb, learn_and_predict)
    return found


def solve(X: Any, y: Any) -> Any:
    return np.linalg.solve(X.T @ X + np.eye(X.shape[1]), X.T @ y)


@BACKENDS
def test_a_prediction_during_learning_leaves_no_old_weights(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), rng.standard_normal(30)
    ridge = ob.create("ridge", backend=backend).partial_fit(X[:10], y[:10])
    found = predict_meanwhile(monkeypatch, ridge.rule.kernel, "learn", lambda: ridge.predict(X[:2]))
    ridge.partial_fit(X[10:], y[10:], sample_weight=np.ones(20))
    assert len(found) == 2
    np.testing.assert_allclose(ridge.predict(X), X @ solve(X, y))


@BACKENDS
def test_a_prediction_while_a_fleet_learns_leaves_no_old_weights(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((2, 30, 3)), rng.standard_normal((2, 30))
    fleet = ob.fleet("ridge", 2, backend=backend).partial_fit(X[:, :10], y[:, :10])
    kernel = fleet.members.shared.kernel
    found = predict_meanwhile(monkeypatch, kernel, "fleet_learn", lambda: fleet.predict(X[:, :2]))
    fleet.partial_fit(X[:, 10:], y[:, 10:])
    assert len(found) == 2
    for i in range(2):
        np.testing.assert_allclose(fleet.predict(X)[i], X[i] @ solve(X[i], y[i]))


@BACKENDS
def test_weights_of_a_solve_during_which_a_row_was_learned_are_not_kept(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), rng.standard_normal(30)
    ridge = ob.create("ridge", backend=backend).partial_fit(X[:29], y[:29])
    kernel, rest = ridge.rule.kernel, [(X[29:], y[29:])]

    def solve_and_learn(arrays: Any, solve: Any = kernel.solve) -> Any:
        found = solve(arrays)
        if rest:
            ridge.partial_fit(*rest.pop())
        return found

    monkeypatch.setattr(kernel, "solve", solve_and_learn)
    ridge.predict(X)
    assert not rest
    np.testing.assert_allclose(ridge.predict(X), X @ solve(X, y))
    np.testing.assert_allclose(ridge.predict_one(X[0]), X[0] @ solve(X, y))


def test_members_of_a_fleet_with_new_classes_solve_again() -> None:
    method = replace(ob.methods()["ridge"], name="classes_by_ridge", kind="classification")
    X = np.random.default_rng(0).standard_normal((6, 2))
    with installed(method, "orfit_bench_numpy.ridge"):
        fleet = ob.fleet(method.name, 2, backend="numpy").partial_fit(np.stack([X] * 2), [list("ababab")] * 2)
        fleet.predict(np.stack([X] * 2))
        fleet.partial_fit(X[:1], ["c"], which=[0])
        found = fleet.predict(np.stack([X[1:]] * 2))
        assert found[1].tolist() == fleet[1].predict(X[1:]).tolist()
