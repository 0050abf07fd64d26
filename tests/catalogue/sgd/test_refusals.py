"""Targets and settings that SGD refuses, divergence, and settings with a batch solution."""

import numpy as np
import pytest
from helpers.cases import stated
from helpers.sgd import AVERAGED, targets, weights

import orfit_bench as ob
from orfit_bench.catalogue.methods.sgd import METHOD
from orfit_bench.catalogue.shared.losses import MARGINS


@pytest.mark.parametrize("loss", MARGINS)
def test_targets_other_than_minus_one_and_one_are_refused(loss, data, cubic, same_state):
    X, good = data[0], targets(loss, 12)
    bad = good.copy()
    bad[[7, 9]] = 0.5, 0.0
    message = rf"y: row 7 holds 0.5: with loss='{loss}' sgd expects every y to be -1 or 1"
    for settings in ({}, {"batch_size": 5}, {"model": cubic}):
        learner = ob.create("sgd", loss=loss, **settings).partial_fit(X[:7], good[:7])
        before = learner.copy()
        for call in (learner.partial_fit, learner.prequential, learner.step):
            if call == learner.step and learner.pending:
                continue
            with pytest.raises(ValueError, match=message):
                call(X, bad)
            same_state(learner, before)
        with pytest.raises(ValueError, match=r"y: row 1 holds 2\.0"):
            learner.partial_fit(X[:2], [1, 2])
        same_state(learner, before)
    fresh = ob.create("sgd", loss=loss)
    with pytest.raises(ValueError, match=r"row 3 holds 0\.0"):
        fresh.partial_fit(X[:4], np.array([[1.0, 1], [-1, 1], [1, -1], [1, 0]]))
    with pytest.raises(AttributeError):
        _ = fresh.n_features_in_
    fresh.partial_fit(X[:0], good[:0]).partial_fit(X, good.astype(int))
    assert fresh.n_samples_seen_ == 12


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "sqaure"}, "loss='sqaure': want one of square"),
        ({"tau": 0.0}, r"tau=0.0: want a number in \(0, 1\)"),
        ({"tau": 1.0}, "tau=1.0"),
        ({"delta": 0.0}, "delta=0.0"),
        ({"epsilon": -1.0}, "epsilon=-1.0"),
        ({"momentum": 1.0}, r"momentum=1.0: want a number in \[0, 1\)"),
        ({"momentum": {"sequence": {"values": [0.5, -0.1]}}}, "momentum=.* one is -0.1"),
        ({"averaging": "mean"}, "averaging='mean'"),
        ({"tail_start": 0}, "tail_start=0"),
        ({"weights": 0.0}, "weights=0.0"),
        ({"weights": {"sequence": {"values": [1.0, 0.0]}}}, "weights=.* one is 0.0"),
        ({"ridge": -1.0}, "ridge=-1.0"),
        ({"radius": 0.0}, r"radius=0.0: want a number in \(0, inf\) or None"),
        ({"batch_size": 0}, "batch_size=0"),
    ],
    ids=lambda v: stated(v) if isinstance(v, dict) else "",
)
def test_settings_out_of_range(settings, message):
    with pytest.raises(ValueError, match=message):
        ob.create("sgd", **settings)


@pytest.mark.parametrize(
    "more", [{}, {"momentum": 0.5}, *AVERAGED, {"batch_size": 2, "averaging": "uniform"}], ids=stated
)
def test_divergence_keeps_the_last_good_state(more, data, cubic, same_state):
    X, y = np.tile(data[0], (60, 1)), np.tile(targets("square", 12), 60)
    for model in ("linear", cubic):
        learner = ob.create("sgd", step_size=1e10, model=model, **more)
        X_, y_ = (X[:, :3], y) if model is cubic else (X, y)
        with pytest.raises(ob.DivergedError) as info:
            learner.partial_fit(X_, y_)
        n = learner.n_samples_seen_
        assert 1 < info.value.step == n // more.get("batch_size", 1) + 1
        same_state(learner, ob.create("sgd", step_size=1e10, model=model, **more).partial_fit(X_[:n], y_[:n]))
        assert all(np.isfinite(a.values).all() for a in learner.state().variables.values())


LINEAR = [
    {"step_size": {"power": {"eta0": 0.3, "power": 0.5}}},
    {"step_size": 0.1, "momentum": {"sequence": {"values": [0.9, 0.0, 0.3, 0.8]}}},
    {"step_size": 0.1, "ridge": 0.5},
    {"step_size": {"sequence": {"values": [0.1, 0.2, 0.05]}}, "batch_size": 5},
    {"step_size": 0.1, "batch_size": 3, "ridge": 0.2, "momentum": 0.9, "averaging": "uniform"},
]


@pytest.mark.parametrize("settings", LINEAR, ids=stated)
def test_linear_settings_have_a_batch_solution(settings, data):
    X, w0 = data
    Y = targets("square", (12, 3))
    learner = ob.create("sgd", initial_weights=w0, **settings).partial_fit(X, Y).flush()
    np.testing.assert_allclose(
        METHOD.theory.batch(X, Y, w0, learner.settings), weights(learner), rtol=1e-11, atol=1e-13
    )


@pytest.mark.parametrize("settings", [{"loss": "huber"}, {"radius": 1.0}], ids=stated)
def test_other_settings_have_no_batch_solution(settings, data):
    assert (
        METHOD.theory.batch(data[0], targets("square", (12, 3)), data[1], ob.create("sgd", **settings).settings) is None
    )
