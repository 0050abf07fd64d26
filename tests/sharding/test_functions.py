"""Shards that are learned with functions of the user: a model, or the transition of a filter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob

X = np.random.default_rng(0).standard_normal((60, 3))
Y = X @ [1.0, -2.0, 3.0]
SHARDS = [(X[:20], Y[:20]), (X[20:], Y[20:])]


def saturated(w: Any, X: Any) -> Any:
    """The tanh of the linear model."""
    return np.tanh(X @ w)[:, None]


def gradient(w: Any, x: Any) -> Any:
    """The derivatives of `saturated` at one row."""
    return (1 - np.tanh(x @ w) ** 2) * x[None]


def count(d: int, c: int) -> int:
    """The number of weights."""
    return d


MODEL = ob.Model("saturated", saturated, gradient, count)


def decayed(state: Any) -> Any:
    """A state moves towards zero."""
    return 0.5 * state


def decay(state: Any) -> Any:
    """The derivatives of the motion."""
    return 0.5 * np.eye(len(state))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("method", "rounds"), [("ogd", None), ("sgd", 2), ("lms", 1)], ids=["merged", "in rounds", "averaged once"]
)
def test_a_model_of_the_user_is_learned(method: str, rounds: int | None, workers: int) -> None:
    settings: dict[str, Any] = {"model": MODEL, "initial_weights": np.full(3, 0.1), "step_size": 0.01}
    found = ob.learn(method, SHARDS, workers=workers, rounds=rounds, backend="numpy", **settings)
    parts = [ob.create(method, backend="numpy", **settings) for _ in SHARDS]
    before = [0, 0]
    for done in range(rounds or 1):
        for part, (X, y) in zip(parts, SHARDS, strict=True):
            rows = slice(len(X) * done // (rounds or 1), len(X) * (done + 1) // (rounds or 1))
            part.partial_fit(X[rows], y[rows])
        if (rounds or 1) > 1:
            ob.average(parts, [part.n_samples_seen_ - n for part, n in zip(parts, before, strict=True)])
            before = [part.n_samples_seen_ for part in parts]
    want = parts[0].merge(parts[1])
    assert found.model is MODEL
    assert found.n_samples_seen_ == 60
    np.testing.assert_array_equal(found.array("w"), want.array("w"))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_transition_of_the_user_is_followed(workers: int) -> None:
    settings: dict[str, Any] = {"transition": (decayed, decay), "process_noise": 0.1}
    found = ob.learn("kalman", SHARDS[:1], workers=workers, backend="numpy", **settings)
    want = ob.create("kalman", backend="numpy", **settings).partial_fit(*SHARDS[0])
    np.testing.assert_array_equal(found.predict(X), want.predict(X))


def test_functions_that_cannot_be_sent_are_named_before_a_shard_is_learned() -> None:
    model = replace(MODEL, name="mine", predict=lambda w, X: saturated(w, X), start=lambda draw, d, c: np.zeros(d))
    with pytest.raises(TypeError, match=r"model: .*mine.* cannot be sent to a process .*: pass a function of a module"):
        ob.learn("ogd", SHARDS, workers=2, backend="numpy", model=model)
    assert ob.learn("ogd", SHARDS, workers=1, backend="numpy", model=model).n_samples_seen_ == 60
