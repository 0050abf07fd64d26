"""Names of columns in pipelines: as in learners, those of the first rows are kept."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import orfit_bench as ob

STEPS = [("intercept",), ("standardize", "intercept"), ("standardize",)]
X = np.random.default_rng(0).standard_normal((30, 2))
y = X @ [1.0, 2.0]
TABLE = pd.DataFrame(X, columns=["a", "b"])
OTHER_ORDER = TABLE[["b", "a"]]


def make(steps: tuple[str, ...], **settings: Any) -> ob.Pipeline:
    return ob.pipeline(*steps, ob.create("rls", backend="numba", **settings))


@pytest.mark.parametrize("steps", STEPS)
def test_an_empty_array_fixes_no_names(steps: tuple[str, ...]) -> None:
    p = make(steps).partial_fit(np.empty((0, 2)), []).partial_fit(TABLE, y)
    assert p.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(p.predict(OTHER_ORDER), p.predict(TABLE))


@pytest.mark.parametrize("before", ["nothing", "an empty array", "an empty table", "rows without names"])
@pytest.mark.parametrize("steps", STEPS[:2])
def test_a_merge_keeps_the_names(steps: tuple[str, ...], before: str) -> None:
    p, other = make(steps), TABLE[10:]
    if before == "rows without names":
        p.partial_fit(X[:10], y[:10])
    elif before != "nothing":
        p.partial_fit(np.empty((0, 2)) if before == "an empty array" else TABLE[:0], [])
    p.merge(make(steps).partial_fit(X[10:] if before == "an empty table" else other, y[10:]))
    assert p.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(p.predict(OTHER_ORDER), p.predict(TABLE))


def test_a_merge_keeps_the_columns_of_a_table_without_rows() -> None:
    fresh = ob.pipeline("standardize", "intercept", ob.create("rls", backend="numpy"))
    empty = fresh.copy().partial_fit(pd.DataFrame(np.zeros((0, 2)), columns=["a", "b"]), [])
    merged = fresh.merge(empty)
    assert (merged.n_features_in_, merged.feature_names_in_.tolist()) == (2, ["a", "b"])


def test_a_merge_refuses_other_names_of_an_empty_table() -> None:
    with pytest.raises(ValueError, match=r"the names of columns: .* in the order of the other"):
        make(STEPS[0]).partial_fit(OTHER_ORDER[:0], []).merge(make(STEPS[0]).partial_fit(TABLE, y))


def test_a_history_warns_of_names_once() -> None:
    p = make(STEPS[1]).partial_fit(TABLE, y)
    with pytest.warns(UserWarning, match="the first rows had"):
        p.weight_history(X, y, every=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p.weight_history(X, y, every=5)
        p.predict(X)


VERBS: dict[str, Any] = {
    "partial_fit": lambda p, rows: p.partial_fit(rows, y),
    "prequential": lambda p, rows: p.prequential(rows, y),
    "predict": lambda p, rows: p.predict(rows),
    "learn_one": lambda p, rows: p.learn_one(rows.iloc[0] if hasattr(rows, "iloc") else rows[0], 1.0),
    "predict_one": lambda p, rows: p.predict_one(rows.iloc[0] if hasattr(rows, "iloc") else rows[0]),
    "log_likelihood": lambda p, rows: p.log_likelihood(rows, y),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("known", [True, False], ids=["array after table", "table after array"])
def test_rows_with_and_without_names_cause_one_warning(known: bool, steps: tuple[str, ...], verb: str) -> None:
    p = make(steps).partial_fit(TABLE if known else X, y)
    text = "the first rows had: they are taken in the order" if known else "the first rows had none"
    with pytest.warns(UserWarning, match=text) as found:
        VERBS[verb](p, X if known else TABLE)
    assert found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        VERBS[verb](p.copy(), X if known else TABLE)
        VERBS[verb](p, X if known else TABLE)


@pytest.mark.parametrize("steps", STEPS)
def test_rows_with_the_known_names_cause_no_warning(steps: tuple[str, ...]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for act in VERBS.values():
            act(make(steps).partial_fit(TABLE, y), OTHER_ORDER)
            act(make(steps).partial_fit(X, y), X)


def test_integers_that_the_learner_would_round_are_refused() -> None:
    table = pd.DataFrame({"a": [2**24 + 1, 1]})
    p = make(("intercept",), dtype="float32")
    with pytest.raises(ValueError, match="column 'a' holds 16777217 in row 0"):
        p.partial_fit(table, [1.0, 2.0])
    with pytest.raises(ValueError, match=r"x\['a'\] = 16777217 would be rounded"):
        p.learn_one({"a": 2**24 + 1}, 1.0)
    assert p.n_samples_seen_ == 0
    scaled = make(("standardize", "intercept"), dtype="float32").partial_fit(table, [1.0, 2.0])
    assert scaled.n_samples_seen_ == 2  # the moments are doubles
