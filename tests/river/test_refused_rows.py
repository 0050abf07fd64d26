"""Rows and tables that are refused change nothing; rows without features and late features count as zeros."""

from __future__ import annotations

import copy
import math
from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

import orfit_bench as ob
from orfit_bench.river import ESTIMATORS
from orfit_bench.river.transformer import StreamingTransformer

NAMES = ["a", "b", "c"]
rng = np.random.default_rng(0)
TABLE = pd.DataFrame(rng.standard_normal((5, 3)), columns=NAMES)


def known(model: Any) -> tuple[bytes, int]:
    """The learner and the number of its columns."""
    return model.learner.to_bytes(), model._features.width


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ({"a": np.nan, "b": 1.0}, 1.0),
        ({"a": 1.0, "b": "text"}, 1.0),
        ({"a": 1.0, "b": 1.0}, None),
        ({"a": 1.0, "b": 1.0}, "x"),
        ({"a": 1.0, "b": 1.0}, float("nan")),
        ({"a": 1.0, "b": 1e308}, 1.0),
        ({"a": 1.0}, 10**400),
        ({"a": 1.0}, np.timedelta64(5, "ns")),
        ({"a": np.timedelta64(5, "ns")}, 1.0),
        ({"a": np.complex128(1 + 5j)}, 1.0),
        ({"a": np.array(1.0)}, 1.0),
        ({"a": Decimal(1)}, 1.0),
        ([1.0], 1.0),
        (None, 1.0),
    ],
)
def test_a_refused_row_adds_no_features(x: Any, y: Any) -> None:
    model = ESTIMATORS["rls"](backend="numpy")
    model.learn_one({"a": 1.0}, 1.0)
    before = known(model)
    with pytest.raises((TypeError, ValueError, ob.DivergedError)):
        model.learn_one(x, y)
    assert known(model) == before
    model.learn_one({"a": 2.0}, 1.0)


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("method", ["rls", "ridge", "kalman", "class_rls", "oja", "sanger"])
def test_a_first_row_that_diverges_adds_no_features(method: str, many: bool) -> None:
    model, other = (ESTIMATORS[method](backend="numpy") for _ in range(2))
    rows, targets = pd.DataFrame({"a": [1e308], "q": [1e308], "r": [-1e308]}), pd.Series([1])
    given = () if isinstance(model, StreamingTransformer) else (targets if many else 1,)
    with pytest.raises(ob.DivergedError):
        (model.learn_many(rows, *given) if many else model.learn_one(rows.iloc[0].to_dict(), *given))
    for one in (model, other):
        one.learn_one({"a": 1.0, "b": 2.0}, *[1] * len(given))
    assert known(model) == known(other)


def test_a_refused_first_row_adds_no_features() -> None:
    model, other = (ESTIMATORS["oja"](backend="numpy") for _ in range(2))
    with pytest.raises(ValueError, match="want at least n_components=2"):
        model.learn_one({"zz": 1.0})
    for x in TABLE.to_dict("records"):
        model.learn_one(x)
        other.learn_one(x)
    assert model.transform_one(x) == other.transform_one(x)
    moving = ESTIMATORS["kalman"](backend="numpy", transition=np.array([[1.0, 1.0], [0.0, 1.0]]))
    with pytest.raises(ValueError, match=r"transition: got shape \(2, 2\)"):
        moving.learn_one({"place": 1.0, "speed": 0.0, "typo": 3.0}, 1.0)
    moving.learn_one({"place": 1.0, "speed": 0.0}, 1.0)


@pytest.mark.parametrize("y", [TABLE[["a"]], np.eye(5), "abcde", {"a": 1}, {1, 2, 3, 4, 5}, None, pd.Series([1, 2])])
@pytest.mark.parametrize("method", ["rls", "class_rls"])
def test_targets_that_are_no_series_are_refused(method: str, y: Any) -> None:
    model = ESTIMATORS[method](backend="numpy")
    with pytest.raises((TypeError, ValueError), match=r"y: got"):
        model.learn_many(TABLE, y)
    assert model._features.width == int(model.fit_intercept)
    for targets in (pd.Series([1, 2, 1, 2, 1]), [1, 2, 1, 2, 1], np.array([1, 2, 1, 2, 1])):
        model.learn_many(TABLE, targets)
    model.predict_many(TABLE)


@pytest.mark.parametrize("dtype", [object, "Int64", "Sparse[float]", "bool"])
def test_targets_of_a_table_equal_single_targets(dtype: Any) -> None:
    many, single = (ESTIMATORS["rls"](backend="numpy") for _ in range(2))
    y = pd.Series([1, 0, 1, 0, 1], dtype=dtype)
    many.learn_many(TABLE, y)
    for x, target in zip(TABLE.to_dict("records"), y.astype(float), strict=True):
        single.learn_one(x, target)
    np.testing.assert_allclose(many.predict_many(TABLE), [single.predict_one(x) for x in TABLE.to_dict("records")])


@pytest.mark.parametrize(
    "column",
    [
        pd.date_range("1970-01-01", periods=3),
        pd.to_timedelta([1, 2, 3]),
        pd.Series(["1", "2", "3"]),
        pd.Series(["1", "2", "3"], dtype=object),
        pd.Series([1, 2, 3], dtype="category"),
    ],
)
def test_columns_are_real_numbers(column: Any) -> None:
    model = ESTIMATORS["nlms"](backend="numpy")
    with pytest.raises(TypeError, match=r"the feature 't' is of dtype .*, want real numbers: encode it beforehand"):
        model.learn_many(pd.DataFrame({"t": column}), pd.Series([1.0, 2.0, 3.0]))
    assert model.predict_one({}) == 0
    for dtype in ("int64", "Int64", "uint8", "float32", "boolean", object):
        model.learn_many(pd.DataFrame({"t": pd.Series([0, 1, 0], dtype=dtype)}), pd.Series([1.0, 2.0, 3.0]))


def test_a_column_that_occurs_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="X: the feature 'a' occurs twice"):
        ESTIMATORS["rls"](backend="numpy").learn_many(TABLE.set_axis(["a", "b", "a"], axis=1), pd.Series(range(5)))
    model = ESTIMATORS["rls"](backend="numpy")
    model.learn_many(TABLE, pd.Series(range(5)))
    with pytest.raises(ValueError, match="X: the feature 'a' occurs twice"):
        model.predict_many(TABLE.set_axis(["a", "b", "a"], axis=1))
    unknown = TABLE.set_axis(["a", "z", "z"], axis=1)
    np.testing.assert_array_equal(model.predict_many(unknown), model.predict_many(unknown[["a"]]))


def test_rows_are_mappings_and_series_and_defaults_are_not_features() -> None:
    model, plain = (ESTIMATORS["rls"](backend="numpy") for _ in range(2))
    for x, y in ((Counter(good=1, film=1), 1.0), (Counter(bad=1, film=1), -1.0)):
        model.learn_one(x, y)
        plain.learn_one(dict(x), y)
    assert known(model) == known(plain)
    assert model.predict_one(pd.Series({"good": 1, "bad": 2})) == plain.predict_one({"good": 1, "bad": 2})


def test_targets_before_the_first_feature_are_checked_like_others() -> None:
    model = ESTIMATORS["rls"](backend="numpy", fit_intercept=False)
    empty = pd.DataFrame(index=range(3))
    for wrong in ([1.0, 2.0], [1.0] * 4):
        with pytest.raises(ValueError, match=r"y: got . rows, want 3, one for each row of X"):
            model.learn_many(empty, wrong)
    with pytest.raises(ValueError, match="the target = 1152921504606846977 would be rounded"):
        model.learn_one({}, 2**60 + 1)
    model.learn_one({}, 2**60)
    model.learn_one({"a": 1.0}, 1.0)
    assert model.learner.n_samples_seen_ == 2


def test_time_steps_of_a_filter_without_target_or_feature_count() -> None:
    late = ESTIMATORS["kalman"](backend="numpy", transition=0.9, process_noise=0.1)
    late.learn_one({}, np.float32("nan"))
    late.learn_many(pd.DataFrame(index=range(2)), pd.Series([np.nan, 2.0]))
    early = copy.deepcopy(late)
    late.learn_one({"a": 1.0}, 1.0)
    steps = pd.DataFrame({"a": [0.0, 0.0, 0.0, 1.0]})
    want = ob.create("kalman", backend="numpy", transition=0.9, process_noise=0.1)
    want.partial_fit(steps.to_numpy(), [math.nan, math.nan, 2.0, 1.0])
    assert late.learner.n_samples_seen_ == 4
    np.testing.assert_allclose(late.learner.array("mean"), want.array("mean"), rtol=1e-12)
    with pytest.raises(TypeError, match="the target is None"):
        early.learn_one({}, None)
    with pytest.raises(ValueError, match="the target is nan: want a finite number"):
        ESTIMATORS["rls"]().learn_one({}, math.nan)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"transition": 0.9},
        {"transition": 0.9, "process_noise": 0.1},
        {"transition": 0.8, "process_noise": 0.2, "form": "square_root"},
    ],
)
def test_the_mean_of_a_late_feature_of_a_filter_starts_at_the_initial_mean(settings: dict[str, Any]) -> None:
    model = ESTIMATORS["kalman"](backend="numpy", initial_mean=0.5, **settings)
    X = np.array([[1.0, 0, 0], [0.5, 0, 0], [1, 1, 0], [0, 2, -1]])
    y = [2.0, 3.0, 1.0, 4.0]
    for x, target, n in zip(X.tolist(), y, (1, 1, 2, 3), strict=True):
        model.learn_one(dict(zip(NAMES[:n], x, strict=False)), target)
    learner = ob.create("kalman", backend="numpy", initial_mean=0.5, **settings).partial_fit(X, y)
    np.testing.assert_allclose(model.predict_one({"a": 1.0, "b": 1.0, "c": 0.3}), learner.predict_one([1.0, 1.0, 0.3]))


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("kalman", {"process_noise": 1.0}),
        ("rls", {"forgetting_factor": 0.5}),
        ("sgd", {"step_size": ob.schedules.power(0.5, 0.5)}),
        ("greedy", {}),
    ],
)
def test_rows_before_the_first_feature_count_as_zeros(method: str, settings: dict[str, Any], many: bool) -> None:
    without = {} if method == "kalman" else {"fit_intercept": False}
    model = ESTIMATORS[method](backend="numpy", **settings, **without)
    if many:
        model.learn_many(pd.DataFrame(index=range(10)), pd.Series([3.0] * 10))
    for _ in range(0 if many else 10):
        model.learn_one({}, 3.0)
    assert model.predict_one({}) == 0
    with pytest.raises(ValueError, match="the feature 'a' is nan"):
        model.learn_one({"a": np.nan}, 1.0)
    model.learn_one({"a": 1.0}, 1.0)
    X, y = np.r_[np.zeros((10, 1)), [[1.0]]], [3.0] * 10 + [1.0]
    learner = ob.create(method, backend="numpy", **settings).partial_fit(X, y)
    np.testing.assert_allclose(model.predict_one({"a": 1.0}), learner.predict_one([1.0]))
    assert model.learner.n_samples_seen_ == 11


def test_labels_of_rows_before_the_first_feature_are_learned() -> None:
    model = ESTIMATORS["class_rls"](backend="numpy", fit_intercept=False)
    model.learn_one({}, "u")
    with pytest.raises(ValueError, match="the label is nan"):
        model.learn_one({}, float("nan"))
    assert model.predict_one({}) is None
    with pytest.raises(ob.DivergedError):
        model.learn_one({"a": 1e308}, "w")
    model.learn_one({"a": 1.0}, "v")
    learner = ob.create("class_rls", backend="numpy").partial_fit([[0.0], [1.0]], ["u", "v"])
    expected = dict(zip("uv", learner.predict_proba([[1.0]])[0].tolist(), strict=True))
    assert model.predict_proba_one({"a": 1.0}) == expected


def test_rows_without_features_before_the_first_row_of_a_transformer() -> None:
    model = ESTIMATORS["oja"](backend="numpy")
    model.learn_one({})
    for x in TABLE.to_dict("records"):
        model.learn_one(x)
    learner = ob.create("oja", backend="numpy").partial_fit(np.r_[np.zeros((1, 3)), TABLE.to_numpy()])
    np.testing.assert_allclose(list(model.transform_one(x).values()), learner.transform([list(x.values())])[0])


@pytest.mark.parametrize("refused", [False, True])
def test_a_classifier_without_a_learned_row_predicts_nothing(refused: bool) -> None:
    model = ESTIMATORS["class_rls"](backend="numpy")
    if refused:
        with pytest.raises(ob.DivergedError):
            model.learn_one({"a": 1e300}, "x")
    else:
        model.learn_many(pd.DataFrame({"a": []}), pd.Series([], dtype=object))
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one({"a": 1.0}) == {}


def test_a_copy_is_independent() -> None:
    model = ESTIMATORS["rls"](backend="numpy")
    model.learn_one({"a": 1.0}, 1.0)
    before, twin = known(model), copy.copy(model)
    twin.learn_one({"a": 1.0, "b": 2.0}, 3.0)
    assert known(model) == before
    assert model.predict_one({"a": 1.0}) != twin.predict_one({"a": 1.0})


def test_rows_before_one_that_diverges_are_learned_with_their_features() -> None:
    model = ESTIMATORS["rls"](backend="numpy", fit_intercept=False)
    model.learn_one({"a": 1.0}, 1.0)
    rows = pd.DataFrame({"a": [1.0, 1.0], "b": [2.0, 1e300]})
    with pytest.raises(ob.DivergedError, match="row 1 of this call"):
        model.learn_many(rows, pd.Series([1.0, 1.0]))
    learner = ob.create("rls", backend="numpy").partial_fit([[1.0, 0.0], [1.0, 2.0]], [1.0, 1.0])
    np.testing.assert_allclose(model.predict_one({"a": 1.0, "b": 1.0}), learner.predict_one([1.0, 1.0]))


@pytest.mark.parametrize("method", ["class_rls", "softmax"])
def test_a_classifier_without_rows_predicts_an_empty_series(method: str) -> None:
    found = ESTIMATORS[method](backend="numpy").predict_many(TABLE)
    assert isinstance(found, pd.Series)
    assert len(found) == 0


@pytest.mark.parametrize(
    ("method", "verb"), [("rls", "predict_many"), ("class_rls", "predict_many"), ("oja", "transform_many")]
)
def test_rows_before_the_first_one_are_tables_too(method: str, verb: str) -> None:
    with pytest.raises(TypeError, match="X: got list of builtins, want a DataFrame"):
        getattr(ESTIMATORS[method](backend="numpy"), verb)([1])


@pytest.mark.parametrize("large", [2**53 + 1, -(2**53) - 1, np.int64(2**53 + 1), 2**60 + 1])
def test_integers_that_would_be_rounded_are_refused(large: Any) -> None:
    model = ESTIMATORS["ridge"](fit_intercept=False, backend="numpy")
    model.learn_one({"a": 1, "b": 2**60}, 2**60)
    before = known(model)
    for x, y in (({"a": large, "b": 1}, 1.0), ({"a": 1.0, "b": 1.0}, large), ({"a": 1, "c": large}, 1.0)):
        with pytest.raises(ValueError, match=rf"{large} would be rounded: float64 holds all integers up to 2\^53 only"):
            model.learn_one(x, y)
    with pytest.raises(ValueError, match=rf"the feature 'a' = {large} would be rounded"):
        model.predict_one({"a": large, "b": 1})
    table, targets = pd.DataFrame({"a": [1, 2], "b": [3, large]}), pd.Series([1, large])
    with pytest.raises(ValueError, match=rf"the feature 'b' holds {large} in row 1, which would be rounded"):
        model.learn_many(table, pd.Series([1.0, 2.0]))
    with pytest.raises(ValueError, match=rf"the target holds {large} in row 1, which would be rounded"):
        model.learn_many(TABLE[["a", "b"]].iloc[:2], targets)
    assert known(model) == before


def test_ctrl_c_in_rows_before_the_first_feature_undoes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*given: Any) -> None:
        raise KeyboardInterrupt

    model = ESTIMATORS["rls"](backend="numpy", fit_intercept=False)
    model.learn_many(pd.DataFrame(index=range(5)), pd.Series(np.ones(5)))
    for place in ("_learn_rows", "_learn_row"):
        with monkeypatch.context() as patch:
            patch.setattr(type(model), place, interrupt)
            with pytest.raises(KeyboardInterrupt):
                model.learn_one({"a": 1.0}, 3.0)
    model.learn_one({"a": 1.0}, 3.0)
    assert model.learner.n_samples_seen_ == 6
