"""Merged Kalman filters, and the batch solution of one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.filters import GIVEN, Same, X, moments, pendulum, refused, scene, slope, stated, y

import orfit_bench as ob

# ---------------------------------------------------------------------- merging


def test_merging_is_exact(same_state: Same) -> None:
    X, Y, varying = scene(n=40, outputs=2)
    noise = varying["observation_noise"]
    P = np.array([[2.0, 0.3, 0], [0.3, 1, 0], [0, 0, 0]])  # the third number is known
    for settings in ({}, {"initial_covariance": P, "initial_mean": [1, 2, 3], "transition": 1.0}):
        for k in (1, 13, 39):
            one, a, b = (ob.create("kalman", **settings) for _ in range(3))
            one.partial_fit(X, Y, observation_noise=noise)
            a.partial_fit(X[:k], Y[:k], observation_noise=noise[:k])
            b.partial_fit(X[k:], Y[k:], observation_noise=noise[k:])
            kept = b.copy()
            a.merge(b)
            same_state(b, kept)
            for got, want in zip(moments(a), moments(one), strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-13)
            np.testing.assert_array_equal(moments(a)[1], moments(a)[1].T)
            assert (a.n_samples_seen_, a.state().attrs["t"]) == (40, 40)


def test_merging_with_one_that_saw_nothing(same_state: Same) -> None:
    full = ob.create("kalman").partial_fit(X, y)
    same_state(full.copy().merge(ob.create("kalman")), full)
    same_state(ob.create("kalman").merge(full), full)


def test_merging_keeps_the_word_on_digits() -> None:
    vague = {"initial_covariance": 1e8, "observation_noise": 1e-4}
    a, b = (ob.create("kalman", **vague) for _ in range(2))
    a.partial_fit(X[:1] * 1e-9, y[:1])
    stated(lambda: b.partial_fit(X, y))
    assert [it.state()["precision_lost"].item() for it in (a, b)] == [0, 1]
    assert a.merge(b).state()["precision_lost"] == 1


def test_refused_merges(cubic: ob.Model, same_state: Same) -> None:
    for settings, message in (
        ({"process_noise": 0.1}, "the state moves between the rows"),
        ({"transition": 0.9}, "the state moves between the rows"),
        ({"transition": (pendulum, slope)}, "the state moves between the rows"),
        ({"model": cubic}, "on a nonlinear model"),
    ):
        a, b = (ob.create("kalman", **settings).partial_fit(X / 4, y / 4) for _ in range(2))
        refused(a, lambda it, b=b: it.merge(b), ValueError, f"kalman cannot be merged here: {message}", same_state)
    still, moved = ob.create("kalman").partial_fit(X, y), ob.create("kalman").partial_fit(X, y, **GIVEN)
    for a, b in ((still, moved), (moved, still)):
        refused(a, lambda it, b=b: it.merge(b), ValueError, "a state moved between its rows", same_state)
    exact = ob.create("kalman").partial_fit(np.eye(3), y[:3], observation_noise=np.zeros(3))
    refused(still, lambda it: it.merge(exact), ValueError, "a direction is known exactly", same_state)


# ---------------------------------------------------------------------- the batch solution


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"initial_mean": 2.0, "initial_covariance": [1, 2, 3], "observation_noise": [0.3]},
        {"initial_covariance": np.diag([1.0, 0, 2]), "transition": np.eye(3)},
        {"observation_noise": 0.0, "initial_mean": [1, 2, 3]},
        {"initial_covariance": 0.0, "initial_mean": [[1, 2], [3, 4], [5, 6]]},
        {"process_noise": 0.1},
        {"transition": 0.9, "initial_mean": [1, 2, 3]},
        {"transition": GIVEN["transition"][0], "process_noise": [0.1, 0, 0.3], "observation_noise": [[2.0]]},
    ],
    ids=str,
)
def test_the_batch_solution(settings: dict[str, Any]) -> None:
    X, Y, _ = scene(n=12, outputs=2)
    learner = ob.create("kalman", **settings).partial_fit(X, Y)
    want = learner.method.theory.batch(X, Y, np.zeros((3, 2)), learner.settings)
    np.testing.assert_allclose(moments(learner)[0], want, rtol=1e-9, atol=1e-11)


def test_where_there_is_no_batch_solution() -> None:
    batch, start = ob.methods()["kalman"].theory.batch, np.zeros((3, 1))
    long = np.ones((700, 3)), np.ones((700, 1))
    assert batch(*long, start, ob.create("kalman").settings) is not None
    assert batch(*long, start, ob.create("kalman", process_noise=1).settings) is None
    assert batch(X, y[:, None], start, ob.create("kalman", transition=(pendulum, slope)).settings) is None
