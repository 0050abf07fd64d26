"""River's checks of every model, features that come and go, and River's tools around the models."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from river import checks, compose, datasets, evaluate, metrics, preprocessing

import orfit_bench as ob
from orfit_bench.learners.widening import widened
from orfit_bench.river import ESTIMATORS

BACKENDS = [name for name in ("numpy", "numba") if name in ob.backends() and ob.backends()[name].available]
REGRESSORS = [name for name in ESTIMATORS if ob.methods()[name].traits.numbers]
SUBSPACES = [name for name in ESTIMATORS if not ob.methods()[name].traits.supervised]
NAMES = ["a", "b", "c", "d", "e"]


def rows(n=40, seed=0):
    """Rows of which the first 10 have the features a, b, the next 10 also c, all later ones d and e too."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, 5)), rng.standard_normal(n)
    X[:10, 2:] = X[10:20, 3:] = 0
    known = [NAMES[: 2 if i < 10 else 3 if i < 20 else 5] for i in range(n)]
    return X, y, [{name: x[NAMES.index(name)] for name in there} for x, there in zip(X.tolist(), known, strict=True)]


CHECKED = [
    pytest.param(
        method, backend, marks=() if backend == "numpy" and method in ("rls", "class_rls") else pytest.mark.slow
    )
    for method in ESTIMATORS
    for backend in BACKENDS
]
"""Checks of a classifier take seconds: the quick tests check one method of each kind."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("method", "backend"), CHECKED)
def test_the_checks_of_river(method, backend):
    tried = 0
    for params in ESTIMATORS[method]._unit_test_params():
        model = ESTIMATORS[method](backend=backend, **params)
        assert not model._unit_test_skips()
        for check in checks.yield_checks(model):
            check(model.clone())
            tried += 1
    assert tried >= 26


def test_importing_the_package_imports_no_river():
    code = "import sys, orfit_bench; orfit_bench.create('lms'); sys.exit('river' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("method", ESTIMATORS)
def test_signatures_and_docstrings_are_generated_from_the_declaration(method):
    model, declared = ESTIMATORS[method], ob.methods()[method]
    shown = inspect.signature(model).parameters
    for s in declared.settings:
        assert shown[s.name].default == s.default
        assert s.meaning in model.__doc__
    assert pickle.loads(pickle.dumps(model)) is model
    with pytest.raises(TypeError, match="has no parameter"):
        model(no_such_setting=1)


def test_methods_that_learn_layer_by_layer_have_no_model():
    assert set(ob.methods()) - set(ESTIMATORS) == {"gp", "owm"}
    with pytest.raises(KeyError):
        ESTIMATORS["owm"]


# ---------------------------------------------------------------------- features that appear and disappear

SETTINGS = [
    *((name, {}) for name in REGRESSORS),
    ("rls", {"forgetting_factor": 0.9}),
    ("rls", {"forgetting_factor": 1.1, "ridge": 0.3}),
    ("rls", {"forgetting_factor": 0.0}),
    ("ridge", {"forgetting_factor": 0.9}),
    ("ridge", {"forgetting_factor": 1.1}),
    ("kalman", {"process_noise": 0.2}),
    ("kalman", {"transition": 0.9, "process_noise": 0.1}),
    ("sgd", {"momentum": 0.5, "averaging": "uniform", "ridge": 0.1, "step_size": 0.05}),
    ("orfit", {"batch_size": 3}),
    ("icl", {"memory": 2}),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("method", "settings"), SETTINGS)
def test_a_feature_that_appears_counts_as_zero_before(method, settings, intercept, backend):
    X, y, dicts = rows()
    model = ESTIMATORS[method](backend=backend, fit_intercept=intercept, **settings)
    reported = []
    for x, target in zip(dicts, y, strict=True):
        reported.append(model.predict_one(x))
        model.learn_one(x, target)
    wide = np.hstack([np.ones((40, int(intercept))), X])
    learner = ob.create(method, backend=backend, **settings)
    np.testing.assert_allclose(reported, learner.prequential(wide, y), rtol=1e-9, atol=1e-11)
    for name, a in learner.state().data_vars.items():
        np.testing.assert_allclose(model.learner.state()[name], a, rtol=1e-8, atol=1e-10, err_msg=name)


def test_p_of_a_new_feature():
    rls = ob.create("rls", forgetting_factor=0.9, ridge=0.5)
    X, y, _ = rows()
    P = widened(rls.partial_fit(X[:10, :2], y[:10]), 3).array("P")
    np.testing.assert_allclose(P[2:, 2:], np.eye(3) / (0.5 * 0.9**10), rtol=1e-12)
    assert not P[:2, 2:].any()


@pytest.mark.parametrize("method", SUBSPACES)
def test_new_features_start_orthogonal_to_the_basis(method):
    X, _, dicts = rows()
    model, narrow = ESTIMATORS[method](), ob.create(method)
    start = narrow.partial_fit(np.zeros((0, 2))).array("basis")
    given = {} if method == "incremental_pca" else {"initial_basis": np.vstack([start, np.zeros((3, 2))])}
    wide = ob.create(method, **given).partial_fit(X)
    for x in dicts:
        model.learn_one(x)
    one, other = (a.components_.T @ a.components_ for a in (model.learner, wide))
    np.testing.assert_allclose(one, other, atol=1e-10)


def test_labels_and_features_may_appear_and_disappear():
    X, _, dicts = rows()
    labels = np.array(["u", "v", "w"])[np.minimum(np.arange(40) // 12, 2)]
    model = ESTIMATORS["class_rls"](fit_intercept=False, forgetting_factor=0.95)
    assert model.predict_proba_one({"a": 1.0}) == {}
    assert model.predict_one({"a": 1.0}) is None
    for x, label in zip(dicts, labels, strict=True):
        model.learn_one(x, label)
    learner = ob.create("class_rls", forgetting_factor=0.95).partial_fit(X, labels)
    np.testing.assert_allclose(model.learner.decision_function(X), learner.decision_function(X), rtol=1e-9)
    found = model.predict_proba_one(dicts[-1])
    assert set(found) == {"u", "v", "w"}
    assert sum(found.values()) == pytest.approx(1)
    assert max(found, key=found.get) == learner.predict(X[-1:])[0]


def test_a_missing_feature_is_zero_and_an_unknown_one_has_no_weight():
    _, y, dicts = rows()
    one, other = ESTIMATORS["rls"](), ESTIMATORS["rls"]()
    for x, target in zip(dicts[20:], y[20:], strict=True):
        one.learn_one({"b": x["b"]} if x["a"] < 0 else x, target)
        other.learn_one({**dict.fromkeys(NAMES, 0.0), "b": x["b"]} if x["a"] < 0 else x, target)
    assert one.learner.to_bytes() == other.learner.to_bytes()
    assert one.predict_one({"a": 1.0, "z": 5.0}) == other.predict_one({"a": 1.0})


def test_methods_without_a_rule_for_new_features_are_refused():
    model = ESTIMATORS["kalman"](transition=np.eye(2))
    model.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    before = model.learner.to_bytes()
    with pytest.raises(ValueError, match="kalman with an array for transition has no exact rule for a feature"):
        model.learn_one({"a": 1.0, "b": 2.0, "c": 1.0}, 1.0)
    assert model.learner.to_bytes() == before
    model.learn_one({"b": 2.0}, 1.0)
    with pytest.raises(ValueError, match="no exact rule"):
        widened(ob.create("rls", model=ob.MLP((2,))).partial_fit([[1.0]], [1.0]), 1)


def test_a_value_that_is_no_number():
    model = ESTIMATORS["rls"]()
    with pytest.raises(TypeError, match="the feature 'city' is 'Rome', of type str, want a number"):
        model.learn_one({"a": 1.0, "city": "Rome"}, 1.0)


# ---------------------------------------------------------------------- tables and pipelines


@pytest.mark.parametrize("method", ESTIMATORS)
def test_tables_equal_single_rows(method):
    X, y, dicts = rows()
    one, many = ESTIMATORS[method](), ESTIMATORS[method]()
    traits = ob.methods()[method].traits
    targets = (y > 0).tolist() if traits.labels else y.tolist()
    for i, (x, target) in enumerate(zip(dicts, targets, strict=True)):
        one.learn_one(x, target) if traits.supervised else one.learn_one(x)
        if i in (9, 19, 39):
            start = {9: 0, 19: 10, 39: 20}[i]
            table = pd.DataFrame(dicts[start : i + 1])
            given = [pd.Series(targets[start : i + 1])] if traits.supervised else []
            many.learn_many(table, *given)
    assert many.learner.n_samples_seen_ == one.learner.n_samples_seen_ == 40
    table = pd.DataFrame(X, columns=NAMES, index=range(5, 45))
    if traits.labels:
        got, want = many.predict_proba_many(table), one.predict_proba_many(table)
    elif traits.supervised:
        got, want = many.predict_many(table), one.predict_many(table)
        assert got.iloc[3] == pytest.approx(many.predict_one(dict(zip(NAMES, X[3], strict=True))))
    else:
        got, want = many.transform_many(table), one.transform_many(table)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
    assert got.index.tolist() == list(range(5, 45))


@pytest.mark.parametrize("backend", BACKENDS)
def test_pipelines(backend):
    model = preprocessing.StandardScaler() | ESTIMATORS["rls"](backend=backend)
    error = evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    assert error.get() < 1.2
    steps = compose.Discard("ip_in_url") | preprocessing.StandardScaler()
    found = evaluate.progressive_val_score(datasets.Phishing(), steps | ESTIMATORS["class_rls"](), metrics.Accuracy())
    assert found.get() > 0.8
    chain = preprocessing.StandardScaler() | ESTIMATORS["oja"](n_components=2) | ESTIMATORS["nlms"](step_size=0.01)
    for x, y in datasets.TrumpApproval().take(200):
        chain.learn_one(x, y)
    assert np.isfinite(chain.predict_one(x))


# ---------------------------------------------------------------------- rows that are refused

BAD = [float("nan"), float("inf"), np.float32("nan"), 10**400, "x", None, 1 + 2j]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("method", ["rls", "class_rls", "incremental_pca"])
@pytest.mark.parametrize("bad", BAD)
def test_the_feature_that_is_no_finite_number_is_named(method, bad, backend):
    model = ESTIMATORS[method](backend=backend)
    target = () if method in SUBSPACES else (1.0,) if method in REGRESSORS else ("u",)
    good, wrong, new = {"a": 1.0, "b": 2.0}, {"a": 1.0, "b": bad}, {"a": 1.0, "b": 2.0, "late": bad}
    for x in (good, {"a": 2.0, "b": 1.0}):
        model.learn_one(x, *target)
    before = model.learner.to_bytes()
    answer = next(getattr(model, name) for name in ("predict_one", "transform_one") if hasattr(model, name))
    with pytest.raises((TypeError, ValueError), match=r"the feature 'b' is "):
        model.learn_one(wrong, *target)
    with pytest.raises((TypeError, ValueError), match=r"the feature 'late' is "):
        model.learn_one(new, *target)
    with pytest.raises((TypeError, ValueError), match=r"the feature 'b' is "):
        answer(wrong)
    table = pd.DataFrame([good, wrong])
    with pytest.raises((TypeError, ValueError), match=r"the feature 'b' is "):
        model.learn_many(table, *([pd.Series(target * 2)] if target else []))
    assert model.learner.to_bytes() == before


@pytest.mark.parametrize("name", ["rls", "class_rls"])
def test_rows_and_targets_with_the_same_labels_in_another_order_are_refused(name):
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=[7, 8, 9])
    model = ESTIMATORS[name]()
    with pytest.raises(ValueError, match="y"):
        model.learn_many(table, pd.Series([1, 2, 3], index=[9, 8, 7]))
    model.learn_many(table, pd.Series([1, 2, 3], index=[7, 8, 9]))


def test_a_table_names_the_feature_and_the_row():
    table = pd.DataFrame({"age": [1.0, 2.0], "fare": [1.0, np.nan]}, index=["first", "second"])
    with pytest.raises(ValueError, match=r"'fare' is nan in the row 'second' \(1 such in all\): want a finite"):
        ESTIMATORS["rls"]().learn_many(table, pd.Series([1.0, 2.0]))


@pytest.mark.parametrize("label", [None, float("nan"), np.float64("nan")])
def test_a_label_that_is_missing_is_refused(label):
    model = ESTIMATORS["class_rls"]()
    with pytest.raises(ValueError, match=r"the label is (None|nan): want a string"):
        model.learn_one({"a": 1.0}, label)
    with pytest.raises(ValueError, match=r"the label is (None|nan): want a string"):
        model.learn_many(pd.DataFrame({"a": [1.0]}), pd.Series([label], dtype=object))
    assert model.predict_proba_one({"a": 1.0}) == {}


@pytest.mark.parametrize("label", [[1], np.array([1, 2]), (1, [2]), pd.NA])
def test_a_label_that_cannot_be_a_key_is_refused(label):
    model = ESTIMATORS["softmax"]()
    with pytest.raises(TypeError, match=r"the label is .*, of type (list|ndarray|tuple|NAType): want a string"):
        model.learn_one({"a": 1.0}, label)
    assert model.predict_proba_one({"a": 1.0}) == {}


@pytest.mark.parametrize("many", [False, True])
def test_the_label_of_a_refused_row_stays_unknown(many):
    model = ESTIMATORS["class_rls"]()
    model.learn_one({"a": 1.0}, "first")
    table = pd.DataFrame({"a": [2.0, np.nan]}), pd.Series(["second", "third"])
    learn, rows = (model.learn_many, table) if many else (model.learn_one, ({"a": np.nan}, "second"))
    with pytest.raises(ValueError, match="the feature 'a' is nan"):
        learn(*rows)
    assert model.predict_proba_one({"a": 1.0}) == {"first": 1.0}
    model.learn_one({"a": -1.0}, "third")
    assert set(model.predict_proba_one({"a": 1.0})) == {"first", "third"}


@pytest.mark.parametrize("many", [False, True])
def test_the_label_of_a_row_that_diverged_stays_unknown(many):
    model = ESTIMATORS["class_rls"]()
    model.learn_one({"a": 1.0}, "first")
    table = pd.DataFrame({"a": [1e308]}), pd.Series(["second"])
    learn, rows = (model.learn_many, table) if many else (model.learn_one, ({"a": 1e308}, "second"))
    with pytest.raises(ob.DivergedError):
        learn(*rows)
    model.learn_one({"a": -1.0}, "third")
    assert set(model.predict_proba_one({"a": 1.0})) == {"first", "third"}


def test_labels_before_one_that_cannot_be_a_key_stay_unknown():
    model = ESTIMATORS["class_rls"]()
    model.learn_one({"a": 1.0}, "first")
    with pytest.raises(TypeError, match=r"the label is \['c'\]"):
        model.learn_many(pd.DataFrame({"a": [1.0, 2.0]}), pd.Series(["second", ["c"]], dtype=object))
    model.learn_one({"a": -1.0}, "third")
    assert model.predict_one({"a": -1.0}) == "third"


def test_rows_are_dictionaries_and_names_are_suggested():
    with pytest.raises(TypeError, match="got list, want a row as a dictionary"):
        ESTIMATORS["rls"]().learn_one([1.0, 2.0], 3.0)
    with pytest.raises(KeyError, match=r"no estimator of the method 'RLS'\. Did you mean 'rls'\?"):
        ESTIMATORS["RLS"]


@pytest.mark.parametrize(
    ("target", "error"),
    [(float("nan"), ValueError), ("x", TypeError), (None, TypeError), (np.complex128(1 + 2j), TypeError)],
)
def test_the_target_is_named(target, error):
    with pytest.raises(error, match="the target is "):
        ESTIMATORS["rls"]().learn_one({"a": 1.0}, target)


@pytest.mark.parametrize("targets", [[1 + 2j, 1], ["1.5", "2"], pd.to_datetime(["2020", "2021"])])
def test_targets_of_a_table_are_real_numbers(targets):
    model = ESTIMATORS["rls"]()
    with pytest.raises(TypeError, match=r"the target is of dtype .*, want real numbers"):
        model.learn_many(pd.DataFrame({"a": [1.0, 2.0]}), pd.Series(targets))
    assert model.predict_one({"a": 1.0}) == 0


def test_rows_without_features_before_the_first_feature() -> None:
    model = ESTIMATORS["rls"](fit_intercept=False)
    model.learn_one({}, 5.0)
    assert model.predict_one({}) == 0.0
    with pytest.raises(TypeError, match="target"):
        model.learn_one({}, "x")
    model.learn_one({"a": 1.0}, 2.0)
    other = ESTIMATORS["rls"](fit_intercept=False)
    other.learn_one({"a": 1.0}, 2.0)
    assert model.predict_one({"a": 1.0}) == other.predict_one({"a": 1.0})


@pytest.mark.parametrize(
    "X", [np.ones((2, 2)), pl.DataFrame({"a": [1.0, 2.0]}), [{"a": 1.0}]], ids=["array", "polars", "list"]
)
def test_rows_that_are_no_data_frame_of_pandas_are_refused(X: Any) -> None:
    model = ESTIMATORS["rls"](backend="numpy")
    model.learn_one({"a": 1.0}, 1.0)
    kind = type(X).__name__
    for call in (lambda: model.learn_many(X, pd.Series([1.0, 2.0])), lambda: model.predict_many(X)):
        with pytest.raises(TypeError, match=f"X: got {kind} of [a-z]+, want a DataFrame of pandas"):
            call()
