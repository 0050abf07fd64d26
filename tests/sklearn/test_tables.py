"""Tables for estimators: labels that scikit-learn ignores, and the index that Arrow stores as a column."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
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
