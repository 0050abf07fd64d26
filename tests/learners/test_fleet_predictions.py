"""Predictions of fleets whose weights are solved for or move, against those of the members."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.learners.fleets import solving

SIZE, D = 6, 3
MANY = 70
"""Members whose equations are solved together."""
MOVING = np.array([[1.0, 0.1, 0.0], [0.0, 1.0, 0.1], [0.0, 0.0, 0.9]])
CASES: list[tuple[str, dict[str, Any]]] = [
    ("ridge", {}),
    ("ridge", {"ridge": [0.1, 1.0, 2.0, 0.5, 1e-3, 10.0]}),
    ("ridge", {"forgetting_factor": 0.9}),
    ("kalman", {"transition": 0.9}),
    ("kalman", {"transition": [1.0, 0.9, 0.8, 1.0, 0.5, 0.1]}),
    ("kalman", {"transition": [MOVING] * 3 + [1.0, 0.5, np.array([0.5, 0.6, 0.7])]}),
    ("kalman", {"transition": MOVING, "process_noise": 0.1}),
    ("kalman", {"process_noise": 0.1}),
]


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize(("method", "settings"), CASES)
def test_members_predict_as_they_do_alone(method: str, settings: dict[str, Any], backend: str) -> None:
    rng = np.random.default_rng(1)
    fleet = ob.fleet(method, SIZE, backend=backend, **settings)
    which = np.array([0, 1, 1, 3, 5, 5, 5, 3])  # 2 and 4 learn nothing
    for _ in range(3):
        fleet.partial_fit(rng.standard_normal((8, D)), rng.standard_normal(8), which=which)
        asked = np.array([5, 0, 2, 5, 3])
        for _ in range(2):  # stored weights are used again
            X = rng.standard_normal((5, D))
            want = [fleet[i].predict(x[None])[0] for i, x in zip(asked.tolist(), X, strict=True)]
            np.testing.assert_allclose(fleet.predict(X, which=asked), want, rtol=1e-10, atol=1e-12)
        X = rng.standard_normal((SIZE, 2, D))
        want = [fleet[i].predict(x) for i, x in enumerate(X)]
        np.testing.assert_allclose(fleet.predict(X), want, rtol=1e-10, atol=1e-12)
        which = rng.integers(0, 6, 8)


def test_stored_weights_do_not_survive_changes_of_the_members() -> None:
    X = np.random.default_rng(2).standard_normal((SIZE, 4, D))
    fleet = ob.fleet("ridge", SIZE, backend="numpy").partial_fit(X, X.sum(2))
    fleet.predict(X)
    other = ob.fleet("ridge", SIZE, backend="numpy").partial_fit(X, -X.sum(2))
    for change in (lambda: fleet.remove(0), lambda: fleet.add(other[0]), lambda: fleet.merge(other)):
        change()
        rows = X[: len(fleet)]
        np.testing.assert_allclose(fleet.predict(rows), [fleet[i].predict(x) for i, x in enumerate(rows)])


def test_one_warning_counts_the_members_with_inaccurate_weights() -> None:
    X = np.ones((SIZE, 2, D))
    X[1:3, :, 1] += 1e-9
    fleet = ob.fleet("ridge", SIZE, backend="numpy", ridge=1e-18).partial_fit(X, X.sum(2))
    with pytest.warns(ob.AccuracyWarning, match=r"ridge, 6 members of the fleet \(0, 1, 2, 3, 4, ...\): half of the"):
        fleet.predict(X)
    fleet.predict(X)  # of each member once


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_many_members_of_ridge_predict_as_they_do_alone(backend: str) -> None:
    X = np.random.default_rng(3).standard_normal((MANY, 5, D))
    X[3, :, 1] = X[3, :, 0]
    fleet = ob.fleet("ridge", MANY, backend=backend, ridge=1e-3).partial_fit(X, X.sum(2))
    want = [fleet[i].predict(x) for i, x in enumerate(X)]
    np.testing.assert_allclose(fleet.predict(X), want, rtol=1e-9, atol=1e-12)


def test_weights_of_an_earlier_step_do_not_replace_later_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread learns and predicts while the equations are solved."""
    X = np.random.default_rng(4).standard_normal((SIZE, 4, D))
    fleet = ob.fleet("ridge", SIZE, backend="numpy").partial_fit(X, X.sum(2))
    solve, meanwhile = solving._solve, [True]

    def slow(members: Any, state: Any) -> Any:
        found = solve(members, state)
        if meanwhile and meanwhile.pop():
            fleet.partial_fit(X, -3 * X.sum(2)).predict(X)
        return found

    monkeypatch.setattr(solving, "_solve", slow)
    fleet.predict(X)
    monkeypatch.undo()
    np.testing.assert_allclose(fleet.predict(X), [fleet[i].predict(x) for i, x in enumerate(X)], rtol=1e-9)
