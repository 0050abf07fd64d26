"""Tables for estimators: labels that scikit-learn ignores, and the index that Arrow stores as a column."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from orfit_bench.sklearn import ESTIMATORS

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.standard_normal((30, 3)))
KINDS: dict[str, tuple[str, Any, Any]] = {
    "regressor": ("rls", X[0] - X[1], "predict"),
    "classifier": ("class_rls", (X[0] > 0).astype(int), "predict"),
    "transformer": ("oja", None, "transform"),
}
kinds = pytest.mark.parametrize(("method", "y", "verb"), KINDS.values(), ids=KINDS)


@kinds
@pytest.mark.parametrize("labels", [[0, 1, 2], [7, 5, 6], [("a", 1), ("a", 2), ("b", 1)]])
def test_another_order_of_labels_is_refused(method: str, y: Any, verb: str, labels: list[Any]) -> None:
    table = X.set_axis(pd.MultiIndex.from_tuples(labels) if isinstance(labels[0], tuple) else labels, axis=1)
    estimator = ESTIMATORS[method](backend="numpy").fit(table, y)
    other = table.iloc[:, [2, 0, 1]]
    for one in (estimator, pickle.loads(pickle.dumps(estimator))):
        with pytest.raises(ValueError, match=r"X: got the columns .* want the order .* as in fit"):
            getattr(one, verb)(other)
        np.testing.assert_array_equal(getattr(one, verb)(table), getattr(one, verb)(table.to_numpy()))
    with pytest.raises(ValueError, match="want the order"):
        estimator.partial_fit(other, y)
    getattr(estimator, verb)(table.set_axis([11, 12, 13], axis=1))  # other labels are ignored, as scikit-learn does
    clone(estimator).fit(other, y)
    estimator.fit(other, y)


@kinds
def test_the_index_of_a_table_is_no_feature(method: str, y: Any, verb: str) -> None:
    table = X.set_axis(list("abc"), axis=1).set_index(pd.Index(range(60, 30, -1), name="id"))
    estimator = ESTIMATORS[method](backend="numpy").fit(pa.Table.from_pandas(table), y)
    assert estimator.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(
        getattr(estimator, verb)(table), getattr(estimator, verb)(pa.Table.from_pandas(table))
    )


LARGE = 2**53 + 1
ROUNDED = [
    pd.DataFrame({"a": [1, LARGE], "b": [1.5, 2.0]}),
    pd.DataFrame({"a": [1, LARGE], "b": [1, 2]}, dtype="Int64"),
    pl.DataFrame({"a": [1, LARGE], "b": [1.5, 2.0]}),
    pa.table({"a": [1, LARGE], "b": [1.5, 2.0]}),
    np.array([[1, 2], [LARGE, 3]]),
    [[1, 2], [LARGE, 3]],
    [[1, 2.5], [LARGE, 3]],
    ((1, 2.5), (LARGE, 3)),
    [np.array([1, 2.5], object), np.array([LARGE, 3], object)],
    np.array([[1, 2.5], [LARGE, 3]], object),
    pd.DataFrame({"a": [1, LARGE], "b": [1.5, 2.0]}, dtype=object),
]


@pytest.mark.parametrize("rows", ROUNDED, ids=lambda rows: type(rows).__module__)
def test_integers_that_would_be_rounded_are_refused(rows: Any) -> None:
    estimator = ESTIMATORS["ridge"](backend="numpy")
    with pytest.raises(ValueError, match=rf"X.* holds {LARGE} in row 1, which would be rounded"):
        estimator.fit(rows, [1.0, 2.0])
    with pytest.raises(ValueError, match=rf"y.* holds {LARGE} in row 1, which would be rounded"):
        estimator.fit(X.iloc[:2], pd.Series([1, LARGE]))
    for y in (
        [1.5, LARGE],
        pd.Series([1, LARGE], dtype=object),
        np.array([1.5, LARGE], object),
        [[1.5, 1], [LARGE, 2.5]],
    ):
        with pytest.raises(ValueError, match=rf"y.* holds {LARGE} in row 1, which would be rounded"):
            estimator.fit(X.iloc[:2], y)
    estimator.fit([[1, 2**60], [2, 3]], [2**60, 1])
    np.testing.assert_allclose(estimator.fit([[1], [2]], ["1.5", "2.5"]).predict([[3]]), [3.5], atol=1)
    estimator.fit([[1.5, 2**60], [2, 3]], [2**60, 1.5])
    estimator.fit(np.array([[1.0, float(LARGE)], [2.0, 3.0]]), [1.0, 2.0])


@pytest.mark.parametrize("weights", ["x", ["a", "b"], [{}, 1.0]])
def test_weights_that_are_no_numbers_are_named(weights: Any) -> None:
    with pytest.raises(ValueError, match="sample_weight: want numbers"):
        ESTIMATORS["rls"](backend="numpy").partial_fit([[1.0], [2.0]], [1.0, 2.0], sample_weight=weights)
