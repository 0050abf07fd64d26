"""Models of users: two functions are enough for every method that learns models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import orfit_bench as ob

MODELS = sorted(name for name, method in ob.methods().items() if method.kernel.models and method.kind == "regression")


@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("method", MODELS)
def test_user_model_is_learned(method: str, dtype: str, outputs: int | None, cubic: ob.Model, rows: Any) -> None:
    X, _ = rows(40)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    truth = ob.create("lms", model=cubic, random_state=5).partial_fit(X[:0], X[:0, 0] if outputs is None else X[:0, :2])
    y = truth.predict(X)
    learner = ob.create(method, model=cubic, dtype=dtype).partial_fit(X[:0], y[:0])
    at_first = np.abs(learner.predict(X) - y).mean()
    predictions = learner.prequential(X, y)
    assert predictions.shape == y.shape
    assert predictions.dtype == learner.predict(X).dtype == dtype
    assert learner.state()["w"].shape == (3 * (outputs or 1), 1)
    assert np.abs(learner.predict(X) - y).mean() < at_first


@pytest.mark.parametrize("method", MODELS)
def test_linear_user_model_agrees_with_the_linear_model(method: str, rows: Any) -> None:
    """The predictions are the same up to rounding."""
    X, y = rows(12, d=6)
    mine = ob.Model(
        "mine", lambda w, X: (X @ w)[:, None], lambda w, x: x[None], lambda d, c: d, lambda draw, d, c: np.zeros(d)
    )
    predictions = ob.create(method, model=mine).prequential(X, y)
    np.testing.assert_allclose(predictions, ob.create(method).prequential(X, y), rtol=1e-7, atol=1e-9)


def test_learner_shows_its_model(cubic: ob.Model) -> None:
    assert f"; {cubic.name}; numpy" in repr(ob.create("ogd", backend="numpy", model=cubic))
    assert "; mlp(2; tanh); numpy" in repr(ob.create("ogd", backend="numpy", model=ob.MLP((2,))))
    assert "linear" not in repr(ob.create("ogd", backend="numpy"))


@pytest.mark.parametrize("method", MODELS)
def test_model_that_is_not_finite_is_named(method: str) -> None:
    root = ob.Model(
        "root",
        lambda w, X: np.sqrt(X) @ w[:, None],
        lambda w, x: np.sqrt(x)[None],
        lambda d, c: d,
    )
    learner = ob.create(method, backend="numpy", model=root, initial_weights=[1.0, 1.0])
    with np.errstate(invalid="ignore"), pytest.raises(ob.DivergedError, match="Check that root and its derivatives"):
        learner.partial_fit([[1.0, 4.0], [-1.0, 4.0]], [1.0, 2.0])
