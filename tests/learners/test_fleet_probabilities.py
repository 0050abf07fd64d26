"""Probabilities of classes by the members of a fleet equal those of single learners."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import orfit_bench as ob

SIZE, FEATURES = 3, 4
LABELS = np.array(["a", "b", "c", "d"])


def member_rows(fleet: Any, labels: list[list[str]]) -> tuple[Any, np.ndarray[Any, Any]]:
    """The fleet after rows with these labels of each member, and rows to predict (N, 5, d)."""
    rng = np.random.default_rng(0)
    which = np.repeat(np.arange(SIZE), [len(own) for own in labels])
    fleet.partial_fit(rng.standard_normal((len(which), FEATURES)), np.concatenate(labels), which=which)
    return fleet, rng.standard_normal((SIZE, 5, FEATURES))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("method", ["class_rls", "softmax"])
def test_classes_that_a_member_has_not_seen_have_probability_zero(method: str, backend: str, dtype: str) -> None:
    labels = [["b", "a", "b"], ["c", "a", "d", "b"], ["d"]]
    fleet, X = member_rows(ob.fleet(method, SIZE, backend=backend, dtype=dtype), labels)
    found = fleet.predict_proba(X)
    assert found.shape == (SIZE, 5, 4)
    assert found.dtype == fleet[1].predict_proba(X[1]).dtype
    np.testing.assert_allclose(found.sum(axis=2), 1, rtol=1e-6)
    for i in range(SIZE):
        alone = fleet[i]
        places = [fleet.classes_.tolist().index(label) for label in alone.classes_]
        np.testing.assert_allclose(found[i][:, places], alone.predict_proba(X[i]), atol=1e-6)
        assert not np.delete(found[i], places, axis=1).any()
    some = fleet.predict_proba(X[0], which=[2, 0, 1, 0, 2])
    np.testing.assert_allclose(some[1], fleet.predict_proba(np.stack([X[0]] * SIZE))[0, 1], atol=1e-6)
    assert some[[0, 4]].tolist() == [[float(label == "d") for label in fleet.classes_]] * 2


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_scores_that_are_not_numbers_choose_the_class_that_a_single_learner_chooses(backend: str) -> None:
    rng = np.random.default_rng(0)
    fleet = ob.fleet("class_rls", 2, backend=backend, ridge=1e-9)
    fleet.partial_fit(1e-3 * rng.standard_normal((2, 4, 16)), [["c", "b", "c", "a"], ["b", "a", "b", "a"]])
    X = np.where(rng.random((2, 30, 16)) < 0.5, 1.7e308, -1.7e308)
    assert np.isnan(fleet.decision_function(X)).any(axis=(1, 2)).all()
    for i, found in enumerate(fleet.predict(X)):
        assert found.tolist() == fleet[i].predict(X[i]).tolist()


def test_a_member_without_a_class_is_named() -> None:
    fleet, X = member_rows(ob.fleet("softmax", SIZE, backend="numpy"), [["a"], [], ["b"]])
    with pytest.raises(ValueError, match="softmax: member 1 has seen no class yet"):
        fleet.predict_proba(X)
    assert fleet.predict_proba(X[0][:2], which=[0, 2]).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("loss", ["logistic", "cross_entropy"])
def test_probabilities_of_sgd_are_those_of_its_members(loss: str, backend: str) -> None:
    rng = np.random.default_rng(0)
    X, label = rng.standard_normal((SIZE, 20, FEATURES)), rng.integers(0, 3, (SIZE, 20))
    y = np.eye(3)[label] if loss == "cross_entropy" else np.where(label == 0, 1.0, -1.0)
    fleet = ob.fleet("sgd", SIZE, backend=backend, loss=loss, step_size=[0.1, 0.2, 0.5]).partial_fit(X, y)
    found = fleet.predict_proba(X)
    assert found.shape == (SIZE, 20, y.shape[2] if y.ndim == 3 else 2)
    for i in range(SIZE):
        np.testing.assert_allclose(found[i], fleet[i].predict_proba(X[i]), rtol=1e-12)
    assert fleet.predict_proba(X[0, :0], which=[]).shape == (0, found.shape[2])


def test_a_loss_without_probabilities_is_refused() -> None:
    fleet = ob.fleet("sgd", SIZE, backend="numpy").partial_fit(np.ones((SIZE, 1, 2)), np.ones((SIZE, 1)))
    with pytest.raises(TypeError, match="predict_proba: sgd with these settings predicts no probabilities"):
        fleet.predict_proba(np.ones((SIZE, 1, 2)))
