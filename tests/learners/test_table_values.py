"""Values of tables: dtypes, missing values and labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.tables import X, equal, lms, y

import orfit_bench as ob

NUMERIC: dict[str, Any] = {
    "bool": pd.Series([True, False]),
    "nullable boolean": pd.array([True, False], "boolean"),
    "Int64": pd.array([1, 0], "Int64"),
    "Arrow float": pd.array([1, 0], "double[pyarrow]"),
    "Arrow bool": pd.array([True, False], "bool[pyarrow]"),
    "uint8": np.array([1, 0], np.uint8),
    "float16": np.array([1, 0], np.float16),
}
OTHER: dict[str, tuple[Any, str]] = {
    "text": (["a", "b"], "encode it as numbers"),
    "category": (pd.Categorical(["a", "b"]), "encode it as numbers"),
    "category of numbers": (pd.Categorical([1, 2]), "encode it as numbers"),
    "objects": (np.array([1.0, 2.0], object), r"astype\(float\)"),
    "dates": (pd.to_datetime(["2020-01-01", "2021-01-01"]), "seconds since"),
    "durations": (pd.to_timedelta([1, 2]), "seconds"),
    "complex": ([1j, 2j], r"pass complex ones as an array, table.to_numpy\(\)"),
    "sparse": (pd.arrays.SparseArray([0, 1]), r"sparse.to_dense\(\)"),
}


@pytest.mark.parametrize("column", NUMERIC.values(), ids=NUMERIC)
def test_columns_of_numbers_of_any_dtype_are_exact(column: Any) -> None:
    learner = lms().partial_fit(pd.DataFrame({"a": [0.5, 0.25], "b": column}), [1.0, 2.0])
    expected = lms().partial_fit([[0.5, 1.0], [0.25, 0.0]], [1.0, 2.0])
    equal(learner.array("w"), expected.array("w"))


@pytest.mark.parametrize(("column", "remedy"), OTHER.values(), ids=OTHER)
def test_a_column_that_holds_no_numbers_is_named_with_dtype_and_remedy(column: Any, remedy: str) -> None:
    table = pd.DataFrame({"a": [0.5, 0.25], "b": column})
    with pytest.raises(
        TypeError,
        match=f"X: column 'b' is of dtype {str(table['b'].dtype).split('[')[0]}.*, want real numbers: .*{remedy}",
    ):
        lms().partial_fit(table, [1.0, 2.0])


@pytest.mark.parametrize(
    "table",
    [
        pl.DataFrame({"a": [0.5], "b": ["x"]}),
        pl.DataFrame({"a": [0.5], "b": pl.Series(["x"], dtype=pl.Categorical)}),
        pl.DataFrame({"a": [0.5], "b": [[1.0]]}),
        pa.table({"a": [0.5], "b": pa.array(["x"]).dictionary_encode()}),
        pa.table({"a": [0.5], "b": pa.nulls(1)}),
        pa.table({"a": [0.5], "b": pa.array([1]).cast(pa.decimal128(25, 2))}),
    ],
)
def test_columns_of_polars_and_arrow_that_hold_no_numbers_are_named(table: Any) -> None:
    with pytest.raises(TypeError, match=r"X: column 'b' is of dtype .*, want real numbers: "):
        lms().partial_fit(table, [1.0])


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": [0.5, 1], "b": pd.array([1, None], "Int64")}),
        pl.DataFrame({"a": [0.5, 1], "b": [1.0, None]}),
        pa.table({"a": [0.5, 1], "b": pa.array([1.0, None])}),
    ],
)
def test_missing_values_are_refused_by_column_and_row(table: Any) -> None:
    with pytest.raises(ValueError, match="X: column 'b' has 1 missing values, the first in row 1: drop or fill"):
        lms().partial_fit(table, [1.0, 2.0])


@pytest.mark.parametrize("values", [pd.Categorical([7, 3]), pd.CategoricalIndex([7, 3])])
def test_categories_that_are_no_column_are_no_numbers(values: Any) -> None:
    with pytest.raises(TypeError, match=r"y: got Categorical.* of dtype category, want real numbers"):
        lms().partial_fit(X[:2], values)
    with pytest.raises(TypeError, match=r"sample_weight: got Categorical.* of dtype category, want real numbers"):
        ob.create("rls", backend="numpy").partial_fit(X[:2], [1.0, 2.0], sample_weight=values)
    assert ob.create("class_rls", backend="numpy").partial_fit(X[:2], values).classes_.tolist() == [7, 3]


def test_a_value_that_is_not_finite_is_refused_by_the_name_of_its_column() -> None:
    table = pd.DataFrame({"a": [0.5, 1.0], "b": [1.0, np.nan]})
    for backend in ("numpy", "numba"):
        with pytest.raises(ValueError, match=r"X\[1, 1\] is nan \(row 1, column 'b'; 1 such in all\)"):
            ob.create("lms", backend=backend).partial_fit(table, [1.0, 2.0])


@pytest.mark.parametrize(
    "column", [pd.Series([1.0, None, 3.0]), pd.Series([1, None, 3], dtype="Int64"), pl.Series([1.0, None, 3.0])]
)
def test_missing_targets_are_accepted_by_filters_only(column: Any) -> None:
    kalman, expected = (
        ob.create("kalman", backend="numpy").partial_fit(X[:3], t) for t in (column, [1.0, np.nan, 3.0])
    )
    equal(kalman.predict(X), expected.predict(X))
    assert ob.create("kalman", backend="numpy").partial_fit(X[:3], pl.Series([None] * 3)).n_samples_seen_ == 3
    with pytest.raises(ValueError, match=r"y(: the column has 1 missing values, the first in row 1|\[1\] is nan)"):
        lms().partial_fit(X[:3], column)


@pytest.mark.parametrize("labels", [pl.Series(["a", None]), pd.Series(["a", None]), pa.array(["a", None])])
def test_missing_labels_are_refused(labels: Any) -> None:
    with pytest.raises(ValueError, match="y: the column has 1 missing values, the first in row 1"):
        ob.create("class_rls", backend="numpy").partial_fit(X[:2], labels)


@pytest.mark.parametrize(
    "labels",
    [
        pd.DataFrame({"y": ["a", "b"]}),
        pd.Categorical(["a", "b"]),
        pl.Series(["a", "b"]),
        pa.array(["a", "b"]),
        pd.Series([1, 2], dtype="Int64"),
    ],
)
def test_labels_may_be_a_column(labels: Any) -> None:
    learner = ob.create("class_rls", backend="numpy").partial_fit(X[:2], labels)
    assert len(learner.classes_) == 2


def test_rows_that_are_not_in_memory_are_refused() -> None:
    with pytest.raises(TypeError, match=r"X: got a LazyFrame, whose rows are not in memory: .* collect\(\)"):
        lms().partial_fit(pl.DataFrame(X).lazy(), y)
