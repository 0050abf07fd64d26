"""Calls that are refused change nothing, and rows before one that diverges are counted with their labels."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError

from orfit_bench.sklearn import ESTIMATORS

rng = np.random.default_rng(0)
X = rng.standard_normal((50, 2))
TABLE = pd.DataFrame(X, columns=["a", "b"])
CENTRES = {"b": [0, 3], "c": [0, -3], "z": [3, 0], "a": [-3, 0]}


def attributes(estimator: Any) -> dict[str, Any]:
    """All attributes, with arrays and learners as bytes."""
    return {name: pickle.dumps(value) for name, value in estimator.__getstate__().items()}


def near_centres(labels: list[str]) -> Any:
    """A row near the centre of each label."""
    return np.array([CENTRES[label] for label in labels]) + 0.3 * rng.standard_normal((len(labels), 2))


@pytest.mark.parametrize(
    ("method", "y", "change"),
    [
        ("rls", X @ [1.0, 10.0], {"sample_weight": -np.ones(50)}),
        ("rls", X @ [1.0, 10.0], {"forgetting_factor": -1}),
        ("class_rls", np.where(X[:, 0] > 0, "x", "y"), {"sample_weight": [-1.0] * 50}),
        ("class_rls", np.where(X[:, 0] > 0, "x", "y"), {"ridge": -1}),
        ("oja", None, {"n_components": 5}),
        ("oja", None, {"n_components": None}),
        ("oja", None, {"n_components": "mle"}),
    ],
)
def test_a_failed_fit_changes_nothing(method: str, y: Any, change: dict[str, Any]) -> None:
    weights = {name: change[name] for name in change if name == "sample_weight"}
    for estimator in (ESTIMATORS[method](backend="numpy").fit(TABLE, y), ESTIMATORS[method](backend="numpy")):
        if not weights:
            estimator.set_params(**change)
        before = attributes(estimator)
        with pytest.raises((TypeError, ValueError)):
            estimator.fit(TABLE[["b", "a"]], y, **weights)
        assert attributes(estimator) == before


@pytest.mark.parametrize("gap", [None, np.nan])
def test_missing_targets_of_a_filter_are_refused(gap: Any) -> None:
    with pytest.raises(ValueError, match=r"Input.* contains NaN"):
        ESTIMATORS["kalman"]().fit(X[:3], np.array([1.0, gap, 2.0], dtype=object))


def test_a_refused_first_call_of_a_classifier_fixes_no_classes() -> None:
    estimator = ESTIMATORS["class_rls"](backend="numpy")
    labels = np.where(X[:, 0] > 0, "a", "b")
    with pytest.raises(ValueError, match="the label 'b' is not among the classes of the first call"):
        estimator.partial_fit(X, labels, classes=["a", "x"])
    with pytest.raises(NotFittedError):
        estimator.predict(X)
    assert estimator.partial_fit(X, labels, classes=["a", "b"]).score(X, labels) > 0.9


def test_labels_of_another_type_are_refused_before_rows_are_learned() -> None:
    estimator = ESTIMATORS["class_rls"](backend="numpy").fit(X, (X[:, 0] > 0).astype(int))
    before = attributes(estimator)
    with pytest.raises(ValueError, match="Mix of label input types"):
        estimator.partial_fit(X, np.where(X[:, 1] > 0, "p", "q"))
    assert attributes(estimator) == before


def test_labels_of_the_rows_before_one_that_diverges_are_known() -> None:
    estimator, without = (ESTIMATORS["class_rls"](backend="numpy") for _ in range(2))
    first, second, third = list("bc") * 30, [*list("zzaazazaza") * 10, "z"], list("azaz")
    rows, more, last = near_centres(first), near_centres(second), near_centres(third)
    more[-1] = 1.7e308
    estimator.partial_fit(rows, first)
    with pytest.raises(ValueError, match="diverged at step 161, row 100"):
        estimator.partial_fit(more, second)
    assert estimator.n_samples_seen_ == 160
    assert estimator.classes_.tolist() == ["a", "b", "c", "z"]
    without.partial_fit(rows, first).partial_fit(more[:-1], second[:-1]).partial_fit(last, third)
    np.testing.assert_array_equal(estimator.partial_fit(last, third).decision_function(X), without.decision_function(X))
    assert estimator.score(more[:-1], second[:-1]) > 0.95


@pytest.mark.parametrize("method", ["oja", "incremental_pca"])
def test_a_transformer_learns_all_rows_of_a_call_or_none(method: str) -> None:
    estimator = ESTIMATORS[method](backend="numpy").fit(X)
    before = attributes(estimator)
    with pytest.raises(ValueError, match=r"diverged|overflow: scale the features"):
        estimator.partial_fit(np.vstack([X[:20] + 20, [[1e200, 1e200]]]))
    assert attributes(estimator) == before


def test_only_classes_with_rows_are_predicted() -> None:
    estimator = ESTIMATORS["class_rls"](backend="numpy", fit_intercept=False)
    estimator.partial_fit([[1.0, 2.0], [2.0, 1.0]], ["a", "b"], classes=["a", "b", "c"])
    far = -rng.random((20, 2))
    assert set(estimator.predict(far)) <= {"a", "b"}
    assert not estimator.predict_proba(far)[:, 2].any()
    single = ESTIMATORS["class_rls"](backend="numpy").partial_fit([[3.0], [4.0]], ["a", "a"], classes=["a", "b"])
    assert single.predict([[-20.0], [20.0]]).tolist() == ["a", "a"]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_targets_in_another_order_are_refused(kind: Any) -> None:
    p, q = X[:, 0], -5 * X[:, 1]
    estimator = ESTIMATORS["rls"](backend="numpy").fit(X, kind({"p": p, "q": q}))
    before = attributes(estimator)
    with pytest.raises(ValueError, match="y: got the columns 'q', 'p', want the order 'p', 'q' as in fit"):
        estimator.partial_fit(X, kind({"q": q, "p": p}))
    assert attributes(estimator) == before
    estimator.partial_fit(X, kind({"p": p, "q": q})).partial_fit(X, np.stack([p, q], axis=1))


def test_one_weight_in_a_list_is_refused_for_several_rows() -> None:
    with pytest.raises(ValueError, match=r"sample_weight: got shape \(1,\), want \(50,\), one weight for each row"):
        ESTIMATORS["rls"](backend="numpy").fit(X, X[:, 0], sample_weight=[3.0])


def test_coordinates_are_numbers_and_switches_are_true_or_false() -> None:
    estimator = ESTIMATORS["oja"](backend="numpy", n_components=1).fit(X)
    with pytest.raises(ValueError, match="numeric"):
        estimator.inverse_transform([["1.0"], ["2.0"]])
    with pytest.raises(TypeError, match="whiten='no': want True or False"):
        estimator.set_params(whiten="no").transform(X)
