"""Columns whose labels are not strings: numbers, tuples of a MultiIndex, dates. Their order is checked as well."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from helpers.tables import X, equal, lms, y

import orfit_bench as ob

LABELS: dict[str, list[Any]] = {
    "positions in another order": [2, 0, 1],
    "integers": [10, 30, 20],
    "floats": [0.5, 0.25, 1.0],
    "dates": list(pd.date_range("2026-01-01", periods=3)),
    "tuples": [("a", 1), ("a", 2), ("b", 1)],
    "booleans and integers": [5, True, 7],
}
labels = pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)


def table(a: Any, columns: Any) -> pd.DataFrame:
    return pd.DataFrame(a, columns=pd.MultiIndex.from_tuples(columns) if isinstance(columns[0], tuple) else columns)


def w(learner: Any) -> Any:
    return learner.array("w")


@labels
def test_columns_are_put_in_the_order_of_the_first_labels(labels: list[Any]) -> None:
    first = table(X, labels)
    learner = lms().partial_fit(first, y)
    equal(w(learner), w(lms().partial_fit(X, y)))  # in the order of the table, as its array is
    other = first.iloc[:, [1, 2, 0]]
    equal(learner.predict(other), learner.predict(first))
    equal(w(learner.copy().partial_fit(other, y)), w(learner.copy().partial_fit(first, y)))
    again = ob.restore(learner.state())
    equal(again.predict(other), learner.predict(first))
    with pytest.raises(ValueError, match="X: got other columns than in the first call, missing"):
        learner.predict(first.iloc[:, :2])


def test_names_are_the_texts_of_labels() -> None:
    assert lms().partial_fit(table(X, [2, 0, 1]), y).feature_names_in_.tolist() == ["2", "0", "1"]
    tuples = lms().partial_fit(table(X, LABELS["tuples"]), y)
    assert tuples.feature_names_in_.tolist() == ["('a', 1)", "('a', 2)", "('b', 1)"]
    as_texts = lms().partial_fit(table(X, ["0", "1", "2"]), y)  # as a Parquet file has them
    equal(as_texts.predict(table(X, [0, 1, 2])[[2, 0, 1]]), as_texts.predict(table(X, ["0", "1", "2"])))


@pytest.mark.parametrize("first", [X, pd.DataFrame(X), xr.DataArray(X)], ids=["array", "DataFrame", "xarray"])
def test_numbers_of_columns_are_put_in_order(first: Any) -> None:
    learner = lms().partial_fit(first, y)
    other = pd.DataFrame(X)[[2, 0, 1]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        equal(learner.predict(other), learner.predict(X))
        equal(
            learner.predict(xr.DataArray(X, dims=("row", "x"), coords={"x": [0, 1, 2]})[:, [2, 1, 0]]),
            learner.predict(X),
        )
        equal(w(learner.copy().partial_fit(other, y)), w(learner.copy().partial_fit(X, y)))
        assert learner.predict_one({2: X[0, 2], 0: X[0, 0], 1: X[0, 1]}) == pytest.approx(learner.predict(X)[0])
    with pytest.raises(AttributeError, match="feature_names_in_"):
        learner.feature_names_in_  # noqa: B018


@pytest.mark.filterwarnings("default")
def test_other_labels_after_numbered_columns_cause_a_warning() -> None:
    learner = lms().partial_fit(pd.DataFrame(X), y)
    with pytest.warns(UserWarning, match="X has names of columns, but the first rows had none"):
        learner.predict(pd.DataFrame(X, columns=[1, 2, 3]))


def test_targets_are_put_in_order() -> None:
    Y = pd.DataFrame(np.column_stack([y, 2 * y]))
    learner = lms().partial_fit(X, Y)
    equal(w(learner.copy().partial_fit(X, Y[[1, 0]])), w(learner.copy().partial_fit(X, Y)))
    named = lms().partial_fit(X, Y.rename(columns={0: 7, 1: 5}))
    assert named.state()["output"].values.tolist() == ["7", "5"]


def test_a_series_in_another_order_is_refused() -> None:
    learner = lms().partial_fit(X, y)
    row = pd.Series(X[0])
    equal(w(learner.copy().learn_one(row, 1.0)), w(learner.copy().learn_one(X[0], 1.0)))
    with pytest.raises(ValueError, match=r"x: the labels of the Series are 2, 0, 1, the numbers of .* x.sort_index"):
        learner.learn_one(row[[2, 0, 1]], 1.0)
    signal = pd.Series(np.arange(9.0))
    equal(w(learner.copy().learn_one(signal[4:7], 1.0)), w(learner.copy().learn_one(np.array([4.0, 5.0, 6.0]), 1.0)))
    named = lms().partial_fit(pd.DataFrame(X)[[2, 0, 1]], y)
    equal(named.predict_one(row), named.predict(pd.DataFrame(X))[0])


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_the_target_of_one_row_may_have_names(backend: str) -> None:
    def make() -> Any:
        return ob.create("lms", backend=backend, step_size=0.1)

    Y = pd.DataFrame({"u": y, "v": -2 * y})
    learner = make().partial_fit(X, Y)
    want = w(learner.copy().learn_one(X[0], Y.to_numpy()[0]))
    for target in (Y.iloc[0], Y.iloc[0][["v", "u"]], Y.iloc[0][["v", "u"]].to_dict()):
        equal(w(learner.copy().learn_one(X[0], target)), want)
    with pytest.raises(ValueError, match="y: got other columns than in the first call, missing 'v'"):
        learner.learn_one(X[0], {"u": 1.0})
    first = make().learn_one(X[0], {"u": 1.0, "v": 2.0})
    equal(w(first.partial_fit(X, Y[["v", "u"]])), w(make().learn_one(X[0], [1.0, 2.0]).partial_fit(X, Y.to_numpy())))


@pytest.mark.parametrize("first", [X, pd.DataFrame(X)], ids=["array", "DataFrame"])
def test_pipelines_put_numbers_of_columns_in_order(first: Any) -> None:
    pipeline = ob.pipeline(ob.Standardizer(), lms()).partial_fit(first, y)
    other = pd.DataFrame(X)[[2, 0, 1]]
    equal(pipeline.predict(other), pipeline.predict(X))
    row = {2: X[0, 2], 0: X[0, 0], 1: X[0, 1]}
    assert pipeline.predict_one(row) == pytest.approx(pipeline.predict(X)[0])
    named = ob.pipeline(ob.Standardizer(), lms()).partial_fit(other, y)
    equal(named.predict(pd.DataFrame(X)), named.predict(other))


def test_labels_that_read_alike_are_refused() -> None:
    with pytest.raises(ValueError, match="more than one column named"):
        lms().partial_fit(pd.DataFrame(X, columns=[4, 4, 5]), y)
