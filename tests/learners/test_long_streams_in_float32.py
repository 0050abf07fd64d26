"""Single precision over many rows: small terms are not rounded away, and learners warn if sums lose digits."""

import warnings
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob

pytest.importorskip("numba")
LIMIT = 741_455
"""256 / sqrt(eps) of float32."""


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_a_small_ridge_of_sgd_is_not_rounded_away(backend: str) -> None:
    """step_size ridge = 2.5e-8 is less than eps / 2 in float32, but reduces the weight by 1e-3 in 40,000 steps."""
    rng, n = np.random.default_rng(0), 40_000
    X = 0.1 * rng.standard_normal((n, 1))
    y = X[:, 0] + rng.standard_normal(n)
    w = {}
    for dtype, ridge in (("float64", 1e-3), ("float32", 1e-3), ("float64", 0.0)):
        settings: Any = {"step_size": 2.5e-5, "ridge": ridge, "initial_weights": [[1.0]], "dtype": dtype}
        w[dtype, ridge] = float(ob.create("sgd", backend=backend, **settings).partial_fit(X, y).array("w")[0, 0])
    assert abs(w["float64", 1e-3] - w["float64", 0.0]) > 9e-4
    assert abs(w["float32", 1e-3] - w["float64", 1e-3]) < 1e-4


def test_singular_values_do_not_drift_within_calls() -> None:
    """A row adds less to them than a unit in their last place."""
    X = (np.random.default_rng(0).standard_normal((400_000, 3)) * [2, 1, 0.5]).astype(np.float32)
    learner: Any = ob.create("incremental_pca", backend="numba", dtype="float32", n_components=2)
    sigma = np.linalg.svd(X.astype(float), compute_uv=False)[:2]
    assert np.abs(learner.partial_fit(X).array("singular_values") / sigma - 1).max() < 1e-5


@pytest.mark.parametrize(
    ("method", "settings", "warns"),
    [
        ("rls", {}, True),
        ("rls", {"forgetting_factor": 0.99}, False),
        ("rls", {"dtype": "float64"}, False),
        ("class_rls", {}, True),
        ("kalman", {}, True),
        ("kalman", {"process_noise": 1e-3}, False),
    ],
)
def test_sums_over_many_rows_warn_where_they_lose_half_of_their_digits(
    method: str, settings: dict[str, Any], warns: bool
) -> None:
    X, y = np.ones((LIMIT, 1), np.float32), np.zeros(LIMIT, int)
    learner: Any = ob.create(method, backend="numba", **{"dtype": "float32", **settings})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.partial_fit(X, y)
        if not warns:
            learner.partial_fit(X[:2], y[:2])
    if warns:
        with pytest.warns(ob.AccuracyWarning, match="a million rows"):
            learner.partial_fit(X[:2], y[:2])
        assert learner.array("precision_lost") == 1


def test_single_rows_warn_of_long_sums() -> None:
    learner: Any = ob.create("rls", backend="numba", dtype="float32")
    learner.partial_fit(np.ones((LIMIT - 2, 1), np.float32), np.zeros(LIMIT - 2))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(5):
            learner.learn_one(np.ones(1, np.float32), 0.0)
    assert ["float32 without forgetting" in str(warning.message) for warning in caught] == [True]
    assert learner.n_samples_seen_ == LIMIT + 3


def test_members_of_a_fleet_warn_of_long_sums() -> None:
    fleet: Any = ob.fleet("rls", 3, backend="numba", dtype="float32", forgetting_factor=[1, 0.99, 1])
    with pytest.warns(ob.AccuracyWarning, match=r"2 members of the fleet \(0, 2\)"):
        fleet.partial_fit(np.ones((3, LIMIT + 1, 1), np.float32), np.zeros((3, LIMIT + 1), np.float32))
    assert fleet.state()["precision_lost"].values.tolist() == [1, 0, 1]
