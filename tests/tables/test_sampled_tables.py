"""Orders of the rows of tables: chunks keep the names of columns, and what learners refuse is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr

import orfit_bench as ob
from orfit_bench.bench import Suite, run
from orfit_bench.spec import Data, Stream

N = 20
X = np.random.default_rng(0).standard_normal((N, 2))
y = X @ [1.0, 2.0]
FRAME = pd.DataFrame(X, columns=["a", "b"])
COLUMNS = {"a": X[:, 0], "b": X[:, 1]}
PAIRS: dict[str, tuple[Any, Any]] = {
    "pandas": (FRAME, pd.Series(y)),
    "labels of doubles": (FRAME.set_axis(np.arange(N)[::-1] / 2), y),  # the brackets of pandas would take labels
    "polars": (pl.DataFrame(COLUMNS), pl.Series("t", y)),
    "Arrow": (pa.table(COLUMNS), pa.chunked_array([y])),
    "batches": (pa.RecordBatch.from_pydict(COLUMNS), pa.array(y)),
    "xarray": (xr.DataArray(X, dims=["row", "feature"], coords={"feature": ["a", "b"]}), xr.DataArray(y, dims=["row"])),
}
ORDERS: dict[str, Callable[[Any], Data]] = {
    "once": ob.sampling.once,
    "uniform": lambda pair: ob.sampling.uniform(pair, 50, 3),
    "reshuffled": lambda pair: ob.sampling.reshuffled(pair, 3, 3),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", PAIRS)
def test_chunks_of_a_table_keep_the_names_of_its_columns(kind: str, order: str) -> None:
    data, plain = ORDERS[order](PAIRS[kind]), ORDERS[order]((X, y))
    learner, want = (ob.create("rls", backend="numpy") for _ in range(2))
    for (rows, targets), (array, numbers) in zip(data.chunks(7), plain.chunks(7), strict=True):
        learner.partial_fit(rows, targets)
        want.partial_fit(array, numbers)
    assert data.feature_names == ("a", "b") == tuple(learner.feature_names_in_)
    np.testing.assert_array_equal(learner.array("w"), want.array("w"))
    np.testing.assert_array_equal(learner.predict(FRAME[["b", "a"]]), want.predict(X))


@pytest.mark.parametrize("order", ORDERS)
def test_what_a_learner_refuses_is_refused(order: str) -> None:
    sample, codes = ORDERS[order], pd.Categorical([1, 2] * (N // 2))
    masked = np.ma.masked_array(X, X > 0)
    for pair, error, message in [
        ((masked, y), TypeError, "X: got a masked array, want plain values"),
        ((X, masked[:, 0]), TypeError, "y: got a masked array, want plain values"),
        ((FRAME.assign(c=codes), y), TypeError, "X: column 'c' is of dtype category, want real numbers"),
        ((FRAME, pd.Series(y)[::-1]), ValueError, "y: its rows have the labels of X in another order"),
        (Data(FRAME, pd.Series(y)[::-1]), ValueError, "y: its rows have the labels of X in another order"),
        ((pl.LazyFrame(COLUMNS), y), TypeError, "X: got a LazyFrame, whose rows are not in memory"),
        ((X, pl.LazyFrame({"t": y})), TypeError, "y: got a LazyFrame, whose rows are not in memory"),
        (([FRAME.iloc[0]], [1.0]), TypeError, r"X\[0\] is a Series with the names 'a', 'b'"),
        ((None, y), TypeError, "X: got NoneType, want an array or a table of rows"),
    ]:
        with pytest.raises(error, match=message):
            sample(pair)
    for labels in (codes, pd.Series(codes)):  # categories are labels, and no numbers
        rows, targets = next(sample((X, labels)).chunks(9))
        assert set(ob.create("class_rls", backend="numpy").partial_fit(rows, targets).classes_) == {1, 2}
        with pytest.raises(TypeError, match=r"y: got .* of dtype category"):
            ob.create("rls", backend="numpy").partial_fit(rows, targets)


@pytest.mark.parametrize("sampling", ["once", "uniform", "reshuffled"])
def test_a_suite_learns_a_stream_of_a_table(sampling: str) -> None:
    stream = Stream("frame", "", lambda: Data(FRAME, pd.Series(y), test=(FRAME[:5], pd.Series(y[:5]))))
    settings = {"sampling": sampling, "passes": 1 if sampling == "once" else 2}
    found = run(Suite(["rls"], ["numpy"], [stream], settings={"frame": settings}), isolate=False)
    assert list(found["status"].values) == ["ok"], list(found["reason"].values)


def test_an_arrow_table_with_the_index_of_pandas_has_no_further_feature() -> None:
    table = pa.Table.from_pandas(pd.DataFrame({"a": [1.0, 2, 3, 4], "b": [4.0, 3, 2, 1]}).iloc[[0, 2, 3]])
    data = ob.sampling.once((table, np.arange(3.0)))
    assert data.feature_names == ("a", "b")
    (rows, targets), *_ = data.chunks(9)
    assert ob.create("lms").partial_fit(rows, targets).feature_names_in_.tolist() == ["a", "b"]


def test_views_of_tables_have_a_shape_and_a_dtype() -> None:
    data = ob.sampling.uniform((FRAME, pa.array(np.arange(float(N)))), n=4)
    assert (data.X.shape, data.X.dtype, data.y.shape) == ((4, FRAME.shape[1]), np.dtype(float), (4,))


def test_rows_of_tables_have_their_own_hash() -> None:
    hashes = set()
    for factor in (1.0, 2.0):
        stream = Stream("frame", "", lambda factor=factor: ob.sampling.once((factor * FRAME, pd.Series(y))))
        hashes |= set(run(Suite(["rls"], ["numpy"], [stream]), isolate=False)["rows_hash"].values.tolist())
    assert len(hashes) == 2


@pytest.mark.parametrize("kind", PAIRS)
def test_chunks_of_an_order_of_an_order_are_tables(kind: str) -> None:
    again, plain = (ob.sampling.uniform(ob.sampling.reshuffled(pair, 2), 5) for pair in (PAIRS[kind], (X, y)))
    assert again.feature_names == ("a", "b")
    learner = ob.create("rls", backend="numpy").partial_fit(again.X[:3], again.y[:3])
    assert tuple(learner.feature_names_in_) == ("a", "b")
    want = ob.create("rls", backend="numpy").partial_fit(plain.X[:3], plain.y[:3])
    np.testing.assert_array_equal(learner.array("w"), want.array("w"))
