"""Tables as rows: names and order of columns, and where tables are accepted."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
from helpers.tables import X, equal, lms, y

import orfit_bench as ob

NAMES = ["temp", "wind", "price"]
MAKERS: dict[str, Callable[[Any, list[str]], Any]] = {
    "pandas": lambda a, names: pd.DataFrame(a, columns=names),
    "pandas of several dtypes": lambda a, names: pd.DataFrame(
        {n: pd.array(a[:, i], "Float64") if i else a[:, i] for i, n in enumerate(names)}
    ),
    "pandas with Arrow": lambda a, names: pd.DataFrame(a, columns=names).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda a, names: pl.DataFrame(a, schema=names, orient="row"),
    "Arrow table": lambda a, names: pa.table(dict(zip(names, a.T, strict=True))),
    "Arrow batch": lambda a, names: pa.record_batch(dict(zip(names, a.T, strict=True))),
    "xarray": lambda a, names: xr.DataArray(a, dims=("row", "feature"), coords={"feature": names}),
}
COLUMNS: dict[str, Callable[[Any], Any]] = {
    "pandas": lambda a: pd.Series(a, name="target"),
    "pandas nullable": lambda a: pd.Series(a, dtype="Float64"),
    "polars": lambda a: pl.Series("target", a),
    "Arrow array": lambda a: pa.array(a),
    "Arrow chunks": lambda a: pa.chunked_array([a[:3], a[3:]]),
    "xarray": lambda a: xr.DataArray(a, dims="row", coords={"row": np.arange(len(a))}),
}
kinds = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def reference() -> Any:
    return lms().partial_fit(X, y)


def backwards(make: Callable[..., Any], a: Any = X) -> Any:
    return make(a[:, ::-1], NAMES[::-1])


@kinds
def test_columns_are_ordered_by_name_in_every_method(make: Callable[..., Any]) -> None:
    learner = lms().partial_fit(make(X[:3], NAMES), y[:3])
    assert learner.feature_names_in_.tolist() == NAMES
    assert learner.feature_names_in_.dtype == object
    learner.partial_fit(backwards(make, X[3:5]), y[3:5])
    equal(learner.copy().prequential(make(X[5:], NAMES), y[5:]), learner.prequential(backwards(make, X[5:]), y[5:]))
    equal(learner.array("w"), reference().array("w"))
    equal(learner.predict(backwards(make)), reference().predict(X))
    block = ob.create("rls", backend="numpy").partial_fit(make(X[:2], NAMES), y[:2]).step(backwards(make, X[2:]), y[2:])
    plain = ob.create("rls", backend="numpy").partial_fit(X[:2], y[:2]).step(X[2:], y[2:])
    equal(block.predict(make(X, NAMES)), plain.predict(X))


@kinds
def test_labels_subspaces_and_filters_take_tables(make: Callable[..., Any]) -> None:
    labels = np.where(y > 0, "warm", "cold")
    classifier = ob.create("class_rls", backend="numpy").partial_fit(make(X, NAMES), pd.Series(labels))
    expected = ob.create("class_rls", backend="numpy").partial_fit(X, labels)
    equal(classifier.decision_function(backwards(make)), expected.decision_function(X))
    pca = ob.create("incremental_pca", backend="numpy", n_components=2).partial_fit(make(X, NAMES))
    equal(
        pca.transform(backwards(make)),
        ob.create("incremental_pca", backend="numpy", n_components=2).partial_fit(X).transform(X),
    )
    kalman = ob.create("kalman", backend="numpy").partial_fit(make(X, NAMES), y)
    expected = ob.create("kalman", backend="numpy").partial_fit(X, y)
    equal(kalman.smooth(backwards(make), y)["mean"], expected.smooth(X, y)["mean"])


@pytest.mark.parametrize("make", COLUMNS.values(), ids=COLUMNS)
def test_targets_may_be_a_column(make: Callable[[Any], Any]) -> None:
    learner = lms().partial_fit(X, make(y))
    assert learner.predict(X).shape == (8,)
    equal(learner.array("w"), reference().array("w"))


@pytest.mark.parametrize("make", COLUMNS.values(), ids=COLUMNS)
def test_weights_may_be_a_column(make: Callable[[Any], Any]) -> None:
    weights = np.arange(8.0)
    learner, expected = (
        ob.create("rls", backend="numpy").partial_fit(X, y, sample_weight=w) for w in (make(weights), weights)
    )
    equal(learner.predict(X), expected.predict(X))


@kinds
def test_targets_may_be_a_table(make: Callable[..., Any]) -> None:
    Y = np.column_stack([y, -y])
    names = ["up", "down"]
    learner = lms().partial_fit(X[:4], make(Y[:4], names)).partial_fit(X[4:], make(Y[4:, ::-1], names[::-1]))
    equal(learner.predict(X), lms().partial_fit(X, Y).predict(X))
    assert learner.state()["w"].sel(output="up").shape == (3,)
    with pytest.raises(
        ValueError, match=r"y: got other columns .* missing 'down' and unexpected 'side'; want 'up', 'down'"
    ):
        learner.partial_fit(X, make(Y, ["up", "side"]))
    assert lms().partial_fit(X, make(y[:, None], ["up"])).predict(X).shape == (8, 1)
    equal(
        ob.restore(learner.state()).partial_fit(X, make(Y[:, ::-1], names[::-1])).predict(X),
        learner.partial_fit(X, Y).predict(X),
    )


@kinds
def test_other_columns_are_refused_by_name(make: Callable[..., Any]) -> None:
    learner = lms().partial_fit(make(X, NAMES), y)
    before = learner.state()
    for call in (lambda table: learner.predict(table), lambda table: learner.partial_fit(table, y)):
        with pytest.raises(
            ValueError, match="X: got other columns than in the first call, missing 'wind'; want 'temp', 'wind'"
        ):
            call(make(X[:, [0, 2]], ["temp", "price"]))
        with pytest.raises(ValueError, match=r"missing 'wind' and unexpected 'Wind'; .* feature_names_in_"):
            call(make(X, ["temp", "Wind", "price"]))
        with pytest.raises(ValueError, match="unexpected 'more'"):
            call(make(np.ones((8, 4)), [*NAMES, "more"]))
    assert learner.state().identical(before)


def test_unnamed_columns_are_refused_after_named_ones() -> None:
    unnamed = pd.DataFrame(X)
    learner = lms().partial_fit(unnamed, y)
    with pytest.raises(AttributeError, match="feature_names_in_ is known once"):
        learner.feature_names_in_  # noqa: B018
    equal(learner.predict(unnamed), reference().predict(X))
    named = lms().partial_fit(pd.DataFrame(X, columns=NAMES), y)
    for table in (unnamed, xr.DataArray(X)):
        with pytest.raises(
            ValueError, match="X: got columns without names, want 'temp', 'wind', 'price' as in the first"
        ):
            named.predict(table)


def test_names_are_all_texts_or_none_and_all_different() -> None:
    with pytest.raises(
        TypeError, match=r"X: got names of columns that are partly strings \('temp'\) and partly not \(1, int"
    ):
        lms().partial_fit(pd.DataFrame(X, columns=["temp", 1, 2]), y)
    for table in (pd.DataFrame(X, columns=["a", "a", "b"]), pa.Table.from_arrays(list(X.T), names=["a", "a", "b"])):
        with pytest.raises(ValueError, match="X: got more than one column named 'a': rename or drop one"):
            lms().partial_fit(table, y)


@pytest.mark.filterwarnings("default")
def test_plain_rows_after_a_table_cause_one_warning() -> None:
    learner = lms().partial_fit(pd.DataFrame(X, columns=NAMES), y)
    with pytest.warns(
        UserWarning, match="X has no names of columns, but the first rows had: they are taken in the order 'temp'"
    ):
        assert learner.predict(X).shape == (8,)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.predict(X)
        learner.partial_fit(X, y).learn_one(X[0], y[0])
    with pytest.warns(UserWarning, match="no names"):
        ob.restore(learner.state()).learn_one(X[0], 1.0)


@pytest.mark.filterwarnings("default")
def test_table_after_plain_rows_causes_a_warning() -> None:
    learner = lms().partial_fit(X, y)
    with pytest.warns(UserWarning, match="X has names of columns, but the first rows had none"):
        equal(learner.predict(pd.DataFrame(X, columns=NAMES)), learner.predict(X))
    empty = lms().partial_fit(X[:0], y[:0]).partial_fit(pd.DataFrame(X, columns=NAMES), y)
    assert empty.feature_names_in_.tolist() == NAMES


def one_row_in_any_order() -> list[Any]:
    row = dict(zip(NAMES, X[0].tolist(), strict=True))
    return [OrderedDict(reversed(row.items())), pd.Series(row).iloc[::-1], pd.DataFrame([row])[NAMES[::-1]].iloc[0]]


@pytest.mark.parametrize("row", one_row_in_any_order(), ids=["mapping", "Series", "row of a DataFrame"])
def test_one_row_may_have_names(row: Any) -> None:
    learner = lms().partial_fit(pd.DataFrame(X[:0], columns=NAMES), y[:0])
    learner.learn_one(row, y[0])
    equal(learner.array("w"), lms().partial_fit(X[:1], y[:1]).array("w"))
    assert learner.predict_one(row) == pytest.approx(learner.predict(pd.DataFrame(X[:1], columns=NAMES))[0])
    with pytest.raises(ValueError, match=r"x: got other columns .* missing 'wind'"):
        learner.predict_one({"temp": 1.0, "price": 1.0})
    with pytest.raises(TypeError, match=r"x\['wind'\] is 'calm', of type str: want a number"):
        learner.learn_one({"temp": 1.0, "wind": "calm", "price": 1.0}, 1.0)


def test_an_empty_table_fixes_the_names() -> None:
    learner = lms().partial_fit(pd.DataFrame(columns=NAMES), [])
    assert learner.feature_names_in_.tolist() == NAMES


def test_names_are_part_of_the_state_of_files_and_of_bytes(tmp_path: Any) -> None:
    learner = ob.create("rls", backend="numpy").partial_fit(pd.DataFrame(X, columns=NAMES), y)
    learner.save(tmp_path / "s.npz")
    for again in (
        ob.restore(learner.state()),
        ob.load(tmp_path / "s.npz"),
        ob.from_bytes(learner.to_bytes()),
        learner.copy(),
    ):
        assert again.feature_names_in_.tolist() == NAMES
        assert again.predict(backwards(MAKERS["polars"])) == pytest.approx(y, rel=1)
    state = learner.state()
    assert float(state["w"].sel(parameter="price", output=0)) == state["w"].values[2, 0]
    assert state["P"].sel(parameter="price", parameter_2="temp") == state["P"].values[2, 0]
    pca = ob.create("oja", backend="numpy", n_components=1).partial_fit(pd.DataFrame(X, columns=NAMES)).state()
    assert pca["basis"].coords["feature"].values.tolist() == NAMES
    with pytest.raises(ValueError, match="the coordinate 'parameter' is"):
        ob.restore(state.sortby("parameter"))


@pytest.mark.parametrize("method", ["sgd", "kalman", "orfit", "owm", "gp"])
def test_states_of_models_name_what_is_a_feature_or_target(method: str) -> None:
    def make() -> Any:
        return ob.create(method, backend="numpy", model=ob.MLP([2]))

    rows, targets = pd.DataFrame(X, columns=NAMES), pd.DataFrame({"u": y, "v": -y})
    learner = make().partial_fit(rows, targets)
    state = learner.state()
    assert state["feature"].values.tolist() == NAMES
    assert state["target"].values.tolist() == ["u", "v"]
    assert set(state.coords) == {"feature", "target"}
    again = ob.restore(state)
    equal(again.predict(rows[NAMES[::-1]]), learner.predict(rows))
    equal(again.partial_fit(rows, targets[["v", "u"]]).predict(rows[:0]), np.empty((0, 2)))
    one = make().partial_fit(rows, targets[["u"]])
    assert one.state()["target"].values.tolist() == ["u"]


def test_merged_learners_have_the_same_names() -> None:
    def rls(table: Any) -> Any:
        return ob.create("rls", backend="numpy").partial_fit(table, y)

    named = rls(pd.DataFrame(X, columns=NAMES))
    assert rls(X).merge(named).feature_names_in_.tolist() == NAMES
    with pytest.raises(ValueError, match="merge: the learners differ in feature names"):
        named.merge(rls(pd.DataFrame(X, columns=NAMES[::-1])))


def test_no_library_of_tables_is_imported_before_the_first_table() -> None:
    learn = "ob.create('lms', backend='numpy').partial_fit([[1.0]], [1.0])"
    code = f"import sys, orfit_bench as ob; {learn}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"pandas", "narwhals", "polars", "pyarrow"} & set(loaded)


def test_transposed_labelled_arrays_are_refused():
    xr = pytest.importorskip("xarray")
    rows = np.arange(12.0).reshape(4, 3)
    for coords in ({}, {"name": ["a", "b", "c"]}):
        dims = ("row", "name" if coords else "feature")
        array = xr.DataArray(rows, dims=dims, coords=coords)
        ob.create("ridge", backend="numpy").partial_fit(array, rows[:, 0])
        with pytest.raises(ValueError, match=rf"X: the dimension '{dims[1]}' of the features is the first"):
            ob.create("ridge", backend="numpy").partial_fit(array.T, rows[:3, 0])


def test_columns_of_integers_that_would_be_rounded_are_refused():
    pd = pytest.importorskip("pandas")
    for dtype in ("int64", "Int64"):
        frame = pd.DataFrame({"a": [1, 2], "id": pd.array([1, 2**53 + 1], dtype=dtype)})
        with pytest.raises(ValueError, match=f"X: column 'id' holds {2**53 + 1} in row 1, which would be rounded"):
            ob.create("ridge", backend="numpy").partial_fit(frame, [1.0, 2.0])


def test_a_data_set_of_xarray_is_refused_with_the_remedy() -> None:
    table = xr.Dataset({"a": ("row", [1.0, 2.0]), "b": ("row", [3.0, 5.0])})
    with pytest.raises(TypeError, match=r"X: got an xarray.Dataset, want a DataArray .*to_dataarray\(\"feature\"\)"):
        lms().partial_fit(table, [1.0, 2.0])
    lms().partial_fit(table.to_dataarray("feature").transpose(..., "feature"), [1.0, 2.0])


@pytest.mark.parametrize("argument", ["X", "y"])
def test_a_list_of_rows_with_names_is_refused(argument: str) -> None:
    by_series = [pd.Series({"a": 1.0, "b": 2.0}), pd.Series({"b": 2.0, "a": 1.0})]
    by_arrays = [xr.DataArray([1.0, 2.0], dims="f", coords={"f": names}) for names in (["a", "b"], ["b", "a"])]
    for rows, remedy in ((by_series, "pandas.DataFrame"), (by_arrays, "xarray.concat")):
        learner = lms()
        given = (rows, np.ones(2)) if argument == "X" else (np.ones((2, 2)), rows)
        with pytest.raises(TypeError, match=rf"{argument}\[0\] is a .* with the names 'a', 'b', .*{remedy}"):
            learner.partial_fit(*given)
        assert learner.n_samples_seen_ == 0


def test_a_list_of_rows_whose_entries_are_numbered_is_learned() -> None:
    rows = [pd.Series([1.0, 2.0]), pd.Series([3.0, 4.0])]
    equal(
        lms().partial_fit(rows, [1.0, 2.0]).array("w"),
        lms().partial_fit([[1.0, 2.0], [3.0, 4.0]], [1.0, 2.0]).array("w"),
    )
