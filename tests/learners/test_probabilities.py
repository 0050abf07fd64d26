"""Probabilities of classes."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize

import orfit_bench as ob
from orfit_bench.catalogue.shared.probabilities import nearest_distributions

BACKENDS = [name for name in ("numpy", "numba") if ob.backends()[name].available]
rng = np.random.default_rng(0)
X = rng.standard_normal((60, 4))
LABELS = np.array(["a", "b", "c"])[np.argmax(X[:, :3] + rng.standard_normal((60, 3)), axis=1)]


def squared_distance(scores, q):
    return ((q - scores) ** 2).sum()


def test_nearest_distribution_solves_its_problem():
    for scores in rng.standard_normal((20, 4)) * np.tile([0.1, 1, 3, 10], 5)[:, None]:
        (got,) = nearest_distributions(scores[None])
        simplex = {"type": "eq", "fun": lambda q: q.sum() - 1}
        distance = partial(squared_distance, scores)
        want = minimize(distance, np.full(4, 0.25), bounds=[(0, 1)] * 4, constraints=[simplex], tol=1e-12).x
        np.testing.assert_allclose(got, want, atol=1e-5)
        assert got.sum() == pytest.approx(1, abs=1e-15)
    np.testing.assert_array_equal(nearest_distributions(np.array([[0.2, 0.8], [5.0, -1.0]])), [[0.2, 0.8], [1, 0]])


@pytest.mark.parametrize("backend", BACKENDS)
def test_softmax_models_the_probabilities(backend):
    learner = ob.create("softmax", backend=backend, step_size=0.3).partial_fit(X, LABELS)
    q, scores = learner.predict_proba(X), learner.decision_function(X)
    np.testing.assert_allclose(np.log(q / q[:, :1]), scores - scores[:, :1], rtol=1e-9, atol=1e-12)
    assert np.mean(learner.predict(X) == LABELS) > 0.4
    assert np.isfinite(learner.predict_proba(1e300 * X)).all()


@pytest.mark.parametrize("name", ["class_rls", "softmax"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_labels(backend, name):
    learner = ob.create(name, backend=backend).partial_fit(X, LABELS)
    found = learner.predict_proba(X)
    assert type(found) is np.ndarray
    assert found.shape == (60, 3)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-15)
    np.testing.assert_array_equal(learner.classes_[found.argmax(axis=1)], learner.predict(X))
    assert learner.predict_proba(X[:0]).shape == (0, 3)
    alone = ob.create(name, backend=backend).partial_fit(X[:1], ["a"])
    np.testing.assert_array_equal(alone.predict_proba(X), np.ones((60, 1)))
    with pytest.raises(ValueError, match="seen no class yet"):
        ob.create(name, backend=backend).partial_fit(X[:0], []).predict_proba(X)


@pytest.mark.parametrize("model", ["linear", ob.MLP((8,))], ids=["linear", "network"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_sgd_with_cross_entropy_models_the_probabilities(backend, model):
    targets = np.equal(LABELS[:, None], ["a", "b", "c"]).astype(int)
    settings = {"loss": "cross_entropy", "step_size": 0.2, "momentum": 0.5, "batch_size": 7, "averaging": "uniform"}
    learner = ob.create("sgd", backend=backend, model=model, **settings)
    for part in np.array_split(np.tile(np.arange(60), 5), 9):
        learner = learner.partial_fit(X[part], targets[part])
    q, scores = learner.predict_proba(X), learner.predict(X)
    np.testing.assert_allclose(np.log(q / q[:, :1]), scores - scores[:, :1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(q.sum(axis=1), 1, rtol=1e-15)
    assert np.mean(q.argmax(axis=1) == targets.argmax(axis=1)) > 0.6


@pytest.mark.parametrize("backend", BACKENDS)
def test_large_scores_do_not_overflow_in_cross_entropy(backend):
    learner = ob.create("sgd", backend=backend, loss="cross_entropy", step_size=1.0, initial_weights=[[800.0, -800.0]])
    learner.partial_fit([[1.0]], [[0.25, 0.75]])
    np.testing.assert_allclose(learner.array("w"), [[800 - 0.75, -800 + 0.75]])


@pytest.mark.parametrize("wrong", [[0.0, 2.0, 0.0], [0.5, 0.6, 0.0], [-0.5, 1.5, 0.0], [0.0, 0.0, 0.0]], ids=str)
def test_cross_entropy_refuses_targets_that_are_no_probabilities(wrong, same_state):
    good = np.eye(3)[[0, 1, 2]]
    learner = ob.create("sgd", loss="cross_entropy", backend="numpy").partial_fit(X[:3], good)
    before = learner.copy()
    with pytest.raises(ValueError, match=r"y: row 1 holds .* a column for each class"):
        learner.partial_fit(X[:2], [[0.0, 1.0, 0.0], wrong])
    same_state(learner, before)
    with pytest.raises(ValueError, match=r"y: row 0 holds 2: .* the method softmax takes labels"):
        ob.create("sgd", loss="cross_entropy").partial_fit(X[:3], [2, 0, 1])


@pytest.mark.parametrize("backend", BACKENDS)
def test_margins_of_the_logistic_loss(backend):
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    learner = ob.create("sgd", backend=backend, loss="logistic", averaging="uniform").partial_fit(X, y)
    found = learner.predict_proba(X)
    np.testing.assert_allclose(np.log(found[:, 1] / found[:, 0]), learner.predict(X), rtol=1e-9)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-15)
    np.testing.assert_array_equal(learner.predict_proba(1e6 * X)[:, 1] > 0.5, learner.predict(X) > 0)


def test_what_predicts_no_probabilities():
    y = np.sign(X[:, 0])
    for name, settings in (("rls", {}), ("lms", {}), ("sgd", {"loss": "hinge"}), ("sgd", {})):
        with pytest.raises(
            TypeError, match="predicts no probabilities; class_rls and softmax do, and sgd with loss='logistic' or"
        ):
            ob.create(name, backend="numpy", **settings).partial_fit(X, y).predict_proba(X)
    two = ob.create("sgd", backend="numpy", loss="logistic").partial_fit(X, np.stack([y, y], axis=1))
    with pytest.raises(ValueError, match="y had 2 columns"):
        two.predict_proba(X)
