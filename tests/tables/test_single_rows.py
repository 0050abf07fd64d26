"""Single rows with names: the labels of a Series or DataArray, and the numbers of a dictionary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr
from helpers.tables import X, equal, lms, y

import orfit_bench as ob

ROW = [1.0, 5.0, 2.0]
LABELS: dict[str, Any] = {
    "integers": [10, 30, 20],
    "every other integer": [0, 2, 4],
    "floats": [0.5, 0.25, 1.0],
    "booleans": [True, False, 2],
    "dates": pd.date_range("2026-01-01", periods=3),
    "tuples": pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]),
}


def series(values: Any, labels: Any) -> Any:
    return pd.Series(values, index=labels)


def data_array(values: Any, labels: Any) -> Any:
    return xr.DataArray(values, dims="f", coords={"f": labels})


rows_of = pytest.mark.parametrize("make", [series, data_array])


@rows_of
def test_repeated_labels_are_refused(make: Callable[..., Any]) -> None:
    twice = make(ROW, ["a", "a", "b"])
    match = "got more than one column named 'a': rename or drop one"
    named = lms().learn_one({"a": 1.0, "b": 2.0}, 1.0)
    for call in (
        lambda: lms().learn_one(twice, 1.0),
        lambda: named.predict_one(twice),
        lambda: lms().learn_one([1.0], twice),
        lambda: ob.pipeline(ob.Standardizer(), lms()).learn_one(twice, 1.0),
        lambda: ob.create("class_rls", backend="numpy").learn_one(twice, "c"),
        lambda: ob.create("oja", backend="numpy", n_components=1).learn_one(twice),
    ):
        with pytest.raises(ValueError, match=match):
            call()
    kalman = ob.create("kalman", backend="numpy").partial_fit(pd.DataFrame(X[:, :2], columns=["a", "b"]), y)
    with pytest.raises(ValueError, match=f"control: {match}"):
        kalman.step(pd.DataFrame(X[:1, :2], columns=["a", "b"]), y[:1], control=twice)
    with pytest.raises(ValueError, match="got more than one column named '7'"):
        lms().learn_one(make(ROW, [7, 7, 8]), 1.0)


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_of_the_first_row_are_names(labels: Any) -> None:
    row = pd.Series(ROW, index=labels)
    learner = lms().learn_one(row, 1.0)
    assert learner.feature_names_in_.tolist() == lms().learn_one(row.to_dict(), 1.0).feature_names_in_.tolist()
    assert learner.feature_names_in_.tolist() == lms().partial_fit(row.to_frame().T, [1.0]).feature_names_in_.tolist()
    equal(learner.predict_one(row.iloc[[2, 0, 1]]), learner.predict_one(row))
    other = row.set_axis([*row.index[:2], "other"])
    with pytest.raises((TypeError, ValueError)):
        learner.predict_one(other)


@rows_of
def test_consecutive_integers_are_positions(make: Callable[..., Any]) -> None:
    learner = lms().learn_one(make(ROW, [7, 8, 9]), 1.0)
    with pytest.raises(AttributeError, match="feature_names_in_"):
        learner.feature_names_in_  # noqa: B018
    equal(learner.predict_one(make(ROW, [3, 4, 5])), learner.predict_one(np.array(ROW)))
    for labels in ([9, 8, 7], [2, 0, 1]):
        with pytest.raises(ValueError, match=r"x: the labels of the .* are .* in another order: .*x\.sort.*to_numpy"):
            learner.predict_one(make(ROW, labels))


def test_labels_of_a_signal_get_a_remedy() -> None:
    signal = pd.Series(np.arange(9.0), index=pd.date_range("2026-01-01", periods=9))
    learner = lms().learn_one(signal[:3], 1.0)
    with pytest.raises(ValueError, match="x: got other columns than in the first call") as refused:
        learner.learn_one(signal[1:4], 1.0)
    assert refused.value.__notes__ == [
        "the labels of a Series are names of columns: pass x.to_numpy() if the entries are in order"
    ]


def test_a_row_of_xarray_is_put_in_order() -> None:
    learner = lms().partial_fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    other = data_array(ROW, ["c", "a", "b"])
    want = learner.predict_one({"c": 1.0, "a": 5.0, "b": 2.0})
    equal(learner.predict_one(other), want)
    equal(learner.predict_one(xr.DataArray(np.array(ROW, int), dims="f", coords={"f": ["c", "a", "b"]})), want)
    with pytest.raises(ValueError, match="missing 'c' and unexpected 'd'"):
        learner.predict_one(data_array(ROW, ["a", "b", "d"]))
    first = lms().learn_one(other, 1.0)
    assert first.feature_names_in_.tolist() == ["c", "a", "b"]
    outputs = lms().partial_fit(X, pd.DataFrame({"u": y, "v": 2 * y}))
    equal(
        outputs.copy().learn_one(X[0], data_array([1.0, 2.0], ["v", "u"])).array("w"),
        outputs.copy().learn_one(X[0], [2.0, 1.0]).array("w"),
    )
    complex_rows = ob.create("lms", backend="numpy", dtype="complex128", step_size=0.1)
    complex_rows.learn_one(data_array([1j, 2.0], ["a", "b"]), 1.0)
    equal(
        complex_rows.predict_one(data_array([2.0, 1j], ["b", "a"])),
        complex_rows.predict_one(data_array([1j, 2.0], ["a", "b"])),
    )
    assert complex_rows.array("w")[0, 0].imag


def nlms(dtype: str = "float64") -> Any:
    return ob.create("nlms", backend="numpy", dtype=dtype)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (2**53 + 1, r"x\['b'\] = 9007199254740993 would be rounded: float64 holds all integers up to 2\^53 only"),
        (np.int64(-(2**53) - 1), r"x\['b'\] = -9007199254740993 would be rounded"),
        (2**64 + 1, r"x\['b'\] = 18446744073709551617 would be rounded"),
        (10**400, r"x\['b'\] is an integer of 1329 bits, which overflows float64: scale it"),
        (10**4000, r"x\['b'\] is an integer of 13288 bits, which overflows float64"),
    ],
    ids=["odd", "negative", "larger than 64 bits", "larger than a double", "of 4,000 digits"],
)
def test_integers_of_a_row_are_not_rounded(value: Any, message: str) -> None:
    for row in ({"a": 1.5, "b": value}, {"a": 1, "b": value}, pd.Series([1.5, value], index=["a", "b"], dtype=object)):
        with pytest.raises(ValueError, match=message):
            nlms().learn_one(row, 1.0)
        with pytest.raises(ValueError, match=message):
            ob.pipeline(ob.Standardizer(), nlms()).learn_one(row, 1.0)
        with pytest.raises(ValueError, match=message.replace("x", "y", 1)):
            nlms().learn_one([1.0], row)
    assert nlms().learn_one({"a": 2**53, "b": True}, 1.0).n_samples_seen_ == 1


@pytest.mark.skipif(np.finfo(np.longdouble).nmant == 52, reason="long double is double")
def test_a_long_double_that_overflows_is_refused_by_name() -> None:
    large = np.longdouble("1e4000")
    with pytest.raises(ValueError, match=r"x\['a'\] = 1e\+4000 overflows float64: scale it"):
        nlms().learn_one({"a": large}, 1.0)
    with pytest.raises(ValueError, match=r"X\[0, 0\] = 1e\+4000 overflows float64"):
        nlms().learn_one(np.array([large]), 1.0)
    assert nlms().learn_one({"a": np.longdouble("1.5")}, 1.0).n_samples_seen_ == 1


def test_integers_that_float32_would_round_are_refused_everywhere() -> None:
    odd = 2**24 + 1
    limit = r"16777217.* would be rounded: float32 holds all integers up to 2\^24 only"
    for row in ([odd], {"a": odd}, {"a": np.int32(odd)}, pd.Series({"a": odd})):
        with pytest.raises(ValueError, match=limit):
            nlms("float32").learn_one(row, 1.0)
    for dtype in ("int32", "int64", "Int32", "int64[pyarrow]"):
        table = pd.DataFrame({"a": pd.array([1, odd], dtype=dtype)})
        with pytest.raises(ValueError, match=f"X: column 'a' holds {limit}"):
            nlms("float32").partial_fit(table, [1.0, 2.0])
        with pytest.raises(ValueError, match=f"y: the column holds {limit}|y: column 'a' holds {limit}"):
            nlms("float32").partial_fit([[1.0], [2.0]], table["a"])
        assert nlms().partial_fit(table, [1.0, 2.0]).n_samples_seen_ == 2
    with pytest.raises(ValueError, match=limit):
        nlms("float32").partial_fit(pl.DataFrame({"a": [odd], "b": [0.5]}), [1.0])
    with pytest.raises(ValueError, match=limit):
        ob.fleet("nlms", 2, backend="numpy", dtype="float32").partial_fit(
            pd.DataFrame({"a": [odd, 1]}), [1.0, 2.0], which=[0, 1]
        )
    assert nlms("float32").learn_one({"a": 2**24, "b": 3}, 1.0).n_samples_seen_ == 1
    with pytest.raises(ValueError, match=r"x\['b'\] = 1e\+300 overflows float32: scale it or take float64"):
        nlms("float32").learn_one({"a": 1.0, "b": 1e300}, 1.0)


def test_what_is_no_number_is_refused_by_name() -> None:
    learner = ob.create("lms", backend="numpy", dtype="complex128", step_size=0.1)
    for value in (1j, np.complex64(1j)):
        with pytest.raises(TypeError, match=r"x\['a'\] is .*1j.*, a complex number: .* takes complex rows as arrays"):
            learner.learn_one({"a": value}, 1.0)
    with pytest.raises(TypeError, match=r"x\['a'\] is .*, of type timedelta64: want a number"):
        learner.learn_one({"a": np.timedelta64(1, "s")}, 1.0)
