"""Single rows that are not arrays of the learner's dtype: the same states and errors as for such arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import orfit_bench as ob

ROWS = np.array([[1.0, 2.0, 0.5], [-0.25, 1.0, 3.0], [2.0, 0.0, 1.0], [0.5, 0.5, -1.0]])
NAMES = ("a", "b", "c")
METHODS = {"lms": 1.0, "rls": -2, "kalman": 0.5, "ridge": 1.5, "class_rls": "x", "softmax": "y", "oja": None}
FORMS: dict[str, Callable[[Any], Any]] = {
    "list": lambda x: x.tolist(),
    "tuple": lambda x: tuple(x.tolist()),
    "list of NumPy numbers": list,
    "float32": lambda x: x.astype(np.float32),
    "strided": lambda x: np.repeat(x, 2)[::2],
    "big-endian": lambda x: x.astype(">f8"),
}


def learn_one(learner: Any, x: Any, y: Any) -> None:
    learner.learn_one(x) if y is None else learner.learn_one(x, y)


def start(method: str, backend: str, dtype: str, first: Any = ROWS[0]) -> Any:
    learner = ob.create(method, backend=backend, dtype=dtype)
    learn_one(learner, first, METHODS[method])
    return learner


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("method", METHODS)
def test_rows_of_other_types_are_learned_as_arrays(method: str, backend: str, dtype: str, form: str) -> None:
    one, other = start(method, backend, dtype), start(method, backend, dtype)
    for x in ROWS:
        learn_one(one, x.astype(dtype), METHODS[method])
        learn_one(other, FORMS[form](x), METHODS[method])
    assert one.state().identical(other.state())
    assert other.n_samples_seen_ == 5
    if method != "oja":
        assert one.predict_one(ROWS[1].astype(dtype)) == other.predict_one(FORMS[form](ROWS[1]))


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("method", METHODS)
def test_dicts_are_learned_in_the_order_of_the_names(method: str, backend: str) -> None:
    dicts = [dict(zip(NAMES, x.tolist(), strict=True)) for x in ROWS]
    one, other = start(method, backend, "float64"), start(method, backend, "float64", dicts[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x, named in zip(ROWS, dicts, strict=True):
            learn_one(one, x, METHODS[method])
            learn_one(other, dict(reversed(named.items())), METHODS[method])
    for name, field in one.state().data_vars.items():
        np.testing.assert_array_equal(field, other.state()[name])
    if method != "oja":
        assert one.predict_one(ROWS[1]) == other.predict_one(dicts[1])


@pytest.mark.parametrize("columns", [NAMES, ("c", "a", "b")])
@pytest.mark.parametrize("kind", ["float64", "float32", "Float64", "Int64", "object"])
@pytest.mark.parametrize("method", METHODS)
def test_rows_of_a_table_are_learned_as_its_chunks(method: str, kind: str, columns: tuple[str, ...]) -> None:
    table = pd.DataFrame(np.round(ROWS), columns=NAMES)
    one, other = start(method, "numba", "float64", table.iloc[0]), start(method, "numba", "float64", table.iloc[0])
    for x, (_, named) in zip(np.round(ROWS), table[list(columns)].astype(kind).iterrows(), strict=True):
        learn_one(one, dict(zip(NAMES, x.tolist(), strict=True)), METHODS[method])
        learn_one(other, named, METHODS[method])
    assert one.state().identical(other.state())
    if method != "oja":
        assert one.predict_one(named) == other.predict_one(named) == one.predict(table[3:])[0]


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_rows_without_names_are_warned_of_once(backend: str) -> None:
    named = dict(zip(NAMES, ROWS[0].tolist(), strict=True))
    for form in (*FORMS.values(), lambda x: x):
        learner = start("rls", backend, "float64", named)
        for _ in range(3):
            learner.learn_one(named, 1.0)
        with pytest.warns(UserWarning, match="no names of columns, but the first rows had"):
            learner.learn_one(form(ROWS[1]), 1.0)
        learner.learn_one(form(ROWS[2]), 1.0).learn_one(named, 1.0)
        assert learner.n_samples_seen_ == 7


def test_integers_are_numbers() -> None:
    for y in (2, np.int64(2), np.uint8(2), 2.0):
        learner = start("rls", "numpy", "float64").learn_one([1, 0, 3], y).learn_one(np.array([1, 0, 3]), y)
        want = start("rls", "numpy", "float64")
        want.partial_fit(np.array([[1.0, 0, 3], [1, 0, 3]]), np.array([2.0, 2.0]))
        np.testing.assert_allclose(learner.state()["w"], want.state()["w"], rtol=1e-13)


BAD = {
    "texts": ["1", "2", "3"],
    "a missing value": [1.0, None, 2.0],
    "NaN": [1.0, float("nan"), 2.0],
    "infinity": (1.0, float("inf"), 2.0),
    "an overflow": [1.0, 10**309, 2.0],
    "a large integer": [1, 2**53 + 1, 2],
    "an enormous integer": [1, 10**400, 2.0],
    "large integers of an array": np.array([1, 2**53 + 1, 2]),
    "too few": [1.0, 2.0],
    "too many": [1.0] * 4,
    "none": [],
    "a matrix": [[1.0, 2.0, 3.0]],
    "complex numbers": [1.0, 1j, 2.0],
    "a masked value": [1.0, np.ma.masked, 2.0],
    "a missing name": {"a": 1.0, "b": 2.0},
    "another name": {"a": 1.0, "b": 2.0, "d": 3.0},
    "texts by name": {"a": 1.0, "b": "2", "c": 3.0},
    "a set": {1.0, 2.0, 3.0},
    "a table": pd.DataFrame([[1.0, 2.0, 3.0]] * 3, columns=NAMES, index=NAMES),
    "a column of another table": pd.Series([1.0, 2.0, 3.0, 4.0], index=[*NAMES, "d"]),
    "texts of a table": pd.Series(["1", "2", "3"], index=NAMES),
    "a missing value of a table": pd.Series([1, None, 3], index=NAMES, dtype="Int64"),
    "a missing label": pd.Series([1.0, 2.0, 3.0], index=pd.Index(["a", None, "c"], dtype="string")),
    "large integers of a table": pd.Series([1, 2**53 + 1, 3], index=NAMES),
    "dates of a table": pd.Series(pd.to_datetime(["2020-01-01"] * 3), index=NAMES),
}


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("case", BAD)
def test_bad_rows_are_refused_and_change_nothing(case: str, backend: str, dtype: str, named: bool) -> None:
    if case == "another name" and not named:
        pytest.skip("rows with any names follow rows without them, with a warning")
    first = dict(zip(NAMES, ROWS[0].tolist(), strict=True)) if named else ROWS[0]
    learner = start("rls", backend, dtype, first)
    before = learner.state()
    for act in (lambda: learner.learn_one(BAD[case], 1.0), lambda: learner.predict_one(BAD[case])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            with pytest.raises((TypeError, ValueError)):
                act()
    assert learner.state().identical(before)


@pytest.mark.parametrize("y", [np.timedelta64(5), np.timedelta64(5, "s"), np.datetime64(5, "s"), "5", None, 5j])
@pytest.mark.parametrize("x", [[1.0, 2.0, 3.0], ROWS[0], dict.fromkeys(NAMES, 1.0)], ids=["list", "array", "dict"])
def test_targets_that_are_no_numbers_are_refused(x: Any, y: Any) -> None:
    for backend in ("numpy", "numba"):
        learner = start("rls", backend, "float64", dict(zip(NAMES, ROWS[0].tolist(), strict=True)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            with pytest.raises((TypeError, ValueError), match="y"):
                learner.learn_one(x, y)
        assert learner.n_samples_seen_ == 1


def test_a_prediction_may_be_infinite() -> None:
    learner = ob.create("lms", backend="numpy", step_size=1e-3).partial_fit(np.ones((2, 2)), np.array([1e308, 1e308]))
    assert learner.predict_one([1e308, 1e308]) == np.inf
