"""Merged learners of two parts predict like one learner of all rows, or the merge is refused or warns.

Columns differ by up to eight orders of magnitude, priors by twelve, some columns are zero, some parts have no rows.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

import orfit_bench as ob

METHODS = {
    "rls": {},
    "ridge": {},
    "class_rls": {},
    "kalman": {},
    "rls, square root": {"form": "square_root"},
    "kalman, square root": {"form": "square_root"},
}
ENOUGH = {"float64": 1e-6, "float32": 0.03}


class Parts(NamedTuple):
    """Rows of both parts, the number of rows of the first, rows to predict, and settings."""

    X: Any
    y: Any
    first: int
    new: Any
    settings: dict[str, Any]


def draw(rng: np.random.Generator, method: str, dtype: str) -> Parts:
    d, (n_a, n_b) = int(rng.integers(1, 7)), (int(n) for n in rng.choice([0, 1, 2, 5, 50, 500], 2))
    scale, ridge, n = 10.0 ** rng.integers(-4, 5, d), float(10.0 ** rng.integers(-8, 4)), n_a + n_b
    X, new = (rng.standard_normal((rows, d)) * scale for rows in (n, 5))
    if rng.random() < 0.3:
        X[:, 0] = new[:, 0] = 0
    if rng.random() < 0.3:  # rows that nearly depend on each other
        spread, scale = 10.0 ** -rng.integers(0, 8), np.ones(d)
        X, new = (1 + spread * rng.standard_normal((rows, d)) for rows in (n, 5))
    y = X @ (rng.standard_normal(d) / scale) + 0.1 * rng.standard_normal(n)
    y = np.where(y > 0, "a", "b") if method == "class_rls" else y.astype(dtype)
    factor = float(rng.choice([0.3, 0.9, 0.99, 1.0, 1.05]))
    kalman = method.startswith("kalman")
    settings = {"initial_covariance": 1 / ridge} if kalman else {"ridge": ridge, "forgetting_factor": factor}
    return Parts(X.astype(dtype), y, n_a, new.astype(dtype), settings)


def scores(learner: Any, X: Any) -> Any:
    """Predictions, or the scores of the classes in order."""
    if hasattr(learner, "classes_"):
        return learner.decision_function(X)[:, np.argsort(learner.classes_)]
    return learner.predict(X)


def deviation(method: str, dtype: str, parts: Parts) -> float:
    """The largest deviation relative to the largest prediction; 0 if there was a refusal or a warning."""

    def learn(rows: slice) -> Any:
        settings = {**METHODS[method], **parts.settings}
        learner = ob.create(method.split(",")[0], backend="numpy", dtype=dtype, **settings)
        return learner.partial_fit(parts.X[:0], parts.y[:0]).partial_fit(parts.X[rows], parts.y[rows])

    try:
        merged, both = learn(slice(parts.first)).merge(learn(slice(parts.first, None))), learn(slice(None))
        got, want = scores(merged, parts.new), scores(both, parts.new)
    except (ob.DivergedError, ob.AccuracyWarning):
        return 0.0
    except ValueError as error:
        if "cannot be merged here" in str(error):
            return 0.0
        raise
    return float(np.abs(got - want).max(initial=0) / max(np.abs(want).max(initial=0), 1e-3))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ENOUGH)
@pytest.mark.parametrize("method", METHODS)
def test_merged_learners_predict_what_one_learner_does(method: str, dtype: str) -> None:
    rng, refused = np.random.default_rng(0), 0
    for number in range(500):
        parts = draw(rng, method, dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ob.AccuracyWarning)
            found = deviation(method, dtype, parts)
        refused += found == 0
        assert found < ENOUGH[dtype], f"trial {number}: {parts.settings}, {parts.first} of {len(parts.X)} rows first"
    assert refused < 450


@pytest.mark.parametrize(("dtype", "spread"), [("float32", 1e-4), ("float64", 1e-8)])
def test_what_the_prior_of_the_second_part_hides_is_warned_of(dtype: str, spread: float) -> None:
    """The first part has forgotten its prior, so that a direction that the second barely visits is nearly unknown."""
    rng = np.random.default_rng(1)
    X, y = (1 + spread * rng.standard_normal((30, 2))).astype(dtype), rng.standard_normal(30).astype(dtype)
    one, other = (
        ob.create("rls", form="square_root", forgetting_factor=0.5, ridge=1.0, dtype=dtype).partial_fit(
            X[rows], y[rows]
        )
        for rows in (slice(25), slice(25, None))
    )
    with pytest.warns(ob.AccuracyWarning, match="half of the digits"):
        one.merge(other)
