"""Averages of the iterates of SGD, and merging by them."""

import math

import numpy as np
import pytest
from helpers.cases import stated
from helpers.sgd import AVERAGED, targets, weights

import orfit_bench as ob


def test_fields_depend_on_the_settings(data):
    def fields(**settings):
        return set(ob.create("sgd", **settings).partial_fit(data[0], data[0][:, 0]).state()) - {
            "pending_X",
            "pending_y",
        }

    assert fields() == {"w"}
    assert fields(momentum={"power": {"eta0": 0.0, "power": 1.0}}) == {"w"}
    assert fields(momentum={"sequence": {"values": [0.0, 0.0, 0.1]}}) == {"w", "previous"}
    for averaging in ("uniform", "tail", "weighted"):
        assert fields(averaging=averaging) == {"w", "average", "average_weight"}


def weight(settings, t):
    """The weight a_t, computed explicitly."""
    kind, weights = settings["averaging"], settings.get("weights")
    if kind != "weighted":
        return float(t >= settings.get("tail_start", 1))
    if isinstance(weights, float):
        return weights
    return {
        "sequence": lambda: [1.0, 2.0, 5.0][min(t, 3) - 1],
        "power": lambda: 3.0 / t,
        "slide": lambda: 1 / (4 * math.sqrt(t)),
    }[next(iter(weights))]()


@pytest.mark.parametrize("settings", AVERAGED, ids=stated)
@pytest.mark.parametrize("more", [{}, {"batch_size": 3, "momentum": 0.5, "ridge": 0.1, "loss": "huber"}], ids=stated)
def test_predictions_use_the_average_of_the_iterates(settings, more, data):
    """The steps themselves do not: w is the same as without averaging."""
    X, w0 = data
    Y, size = targets("square", (12, 3)), more.get("batch_size", 1)
    plain = ob.create("sgd", step_size=0.1, initial_weights=w0, **more)
    learner = ob.create("sgd", step_size=0.1, initial_weights=w0, **more, **settings)
    iterates, a = [], []
    for t, i in enumerate(range(0, 12, size), start=1):
        mean = np.average(iterates, axis=0, weights=a) if sum(a) else w0 if t == 1 else weights(plain)
        reported = learner.prequential(X[i : i + size], Y[i : i + size])  # as predict would have returned before
        np.testing.assert_allclose(reported, X[i : i + size] @ mean, atol=1e-13)
        iterates.append(w0 if t == 1 else weights(plain))
        a.append(weight(settings, t))
        plain.partial_fit(X[i : i + size], Y[i : i + size])
        np.testing.assert_array_equal(weights(learner), weights(plain))
        if sum(a):
            np.testing.assert_allclose(weights(learner, "average"), np.average(iterates, axis=0, weights=a), atol=1e-14)
        assert weights(learner, "average_weight") == pytest.approx(sum(a))
        want = np.average(iterates, axis=0, weights=a) if sum(a) else weights(plain)
        np.testing.assert_allclose(learner.predict(X), X @ want, atol=1e-13)


def check_predictions(learner, X, y):
    """Compare the predictions of `prequential` with those of a copy before each row; returns the copy."""
    asked = learner.copy().partial_fit(X[:0], y[:0])
    reported = learner.prequential(X, y)
    for i in range(len(X)):
        np.testing.assert_array_equal(reported[i : i + 1], asked.predict(X[i : i + 1]))
        asked.partial_fit(X[i : i + 1], y[i : i + 1])
    return asked


@pytest.mark.parametrize("settings", AVERAGED, ids=stated)
def test_predictions_of_a_model_use_the_average(settings, data, cubic):
    X, y, w0 = data[0][:, :3] / 2, targets("square", 12), data[1].ravel()[:3] / 3
    learner = ob.create("sgd", model=cubic, step_size=0.1, momentum=0.5, initial_weights=w0, **settings)
    asked = check_predictions(learner, X, y)
    np.testing.assert_allclose(asked.predict(X), cubic.predict(weights(asked, "average")[:, 0], X)[:, 0])


def test_prequential_predictions_ignore_the_lookahead(data, cubic):
    X, y = data[0][:, :3] / 2, targets("square", 12)
    learner = ob.create("sgd", model=cubic, step_size=0.1, momentum=0.9)
    check_predictions(learner, X, y)


def test_overflowing_sum_of_weights_is_refused(data, same_state):
    X, y = data[0], targets("square", 12)
    learner = ob.create("sgd", averaging="weighted", weights=1e308)
    with pytest.raises(ob.DivergedError, match="diverged at step 2"):
        learner.partial_fit(X, y)
    same_state(learner, ob.create("sgd", averaging="weighted", weights=1e308).partial_fit(X[:1], y[:1]))


def test_underflowing_weights_do_not_change_the_average(data):
    X, y = data[0], targets("square", 12)
    weights_ = {"power": {"eta0": 1.0, "power": 2000.0}}
    learner = ob.create("sgd", averaging="weighted", weights=weights_, initial_weights=np.ones(4)).partial_fit(X, y)
    np.testing.assert_array_equal(weights(learner, "average")[:, 0], np.ones(4))  # a_1 is the only weight
    zero = {"power": {"eta0": 1e-60, "power": 1.0}}
    none = ob.create("sgd", averaging="weighted", weights=zero, dtype="float32").partial_fit(X, y)
    np.testing.assert_allclose(none.predict(X), X @ weights(none)[:, 0], rtol=1e-5)


def test_merging_is_the_mean_by_rows_and_by_weights(data, same_state):
    X, y = data[0], targets("square", 12)
    settings = {"step_size": 0.1, "momentum": 0.5, "averaging": "tail", "tail_start": 3}
    a, b = (ob.create("sgd", **settings).partial_fit(X[i], y[i]) for i in (slice(0, 8), slice(8, 12)))
    one, other = a.copy(), b.copy()
    a.merge(b)
    for name in ("w", "previous"):
        np.testing.assert_allclose(weights(a, name), (8 * weights(one, name) + 4 * weights(other, name)) / 12)
    assert weights(a, "average_weight") == 6 + 2
    np.testing.assert_allclose(weights(a, "average"), (6 * weights(one, "average") + 2 * weights(other, "average")) / 8)
    assert (a.n_samples_seen_, a.state().attrs["t"]) == (12, 8)
    same_state(b, other)
    unbegun = ob.create("sgd", **settings).partial_fit(X[:2], y[:2])
    short = unbegun.copy().merge(unbegun)
    np.testing.assert_array_equal(short.predict(X), X @ weights(short)[:, 0])
    np.testing.assert_allclose(weights(unbegun.merge(one), "average"), weights(one, "average"))


def test_average_of_learners_uses_their_averages(data):
    """A learner that has not begun to average does not influence the average."""
    X, y = data[0], targets("square", 12)
    settings = {"step_size": 0.1, "averaging": "tail", "tail_start": 5}
    a, b = (ob.create("sgd", **settings).partial_fit(X[:n], y[:n]) for n in (8, 3))
    w, average = (weights(a) + weights(b)) / 2, weights(a, "average")
    ob.average([a, b])
    for learner in (a, b):
        np.testing.assert_allclose(weights(learner), w)
        np.testing.assert_allclose(weights(learner, "average"), average)
        assert weights(learner, "average_weight") == 2
    fresh = [ob.create("sgd", **settings).partial_fit(X[:2], y[:2]) for _ in range(2)]
    ob.average(fresh)
    np.testing.assert_array_equal(weights(fresh[0], "average"), 0)
