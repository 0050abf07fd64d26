"""scikit-learn's checks of every estimator, its tools around them, and further promises of the estimators."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn import set_config
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import orfit_bench as ob
from orfit_bench.models import MLP
from orfit_bench.sklearn import ESTIMATORS

BACKENDS = [name for name in ("numpy", "numba") if name in ob.backends() and ob.backends()[name].available]
REGRESSORS = [name for name, method in ob.methods().items() if method.traits.numbers]
SUBSPACES = [name for name, method in ob.methods().items() if not method.traits.supervised]
WEIGHTED = ["class_rls", "kalman", "ridge", "rls"]


def data(n=80, d=4, outputs=None):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) * np.sqrt(np.arange(d, 0, -1)) + 1.0
    W = rng.standard_normal(d if outputs is None else (d, outputs))
    return X, X @ W + 3 + 0.1 * rng.standard_normal(n if outputs is None else (n, outputs))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("method", ESTIMATORS)
def test_the_checks_of_scikit_learn(method, backend):
    results = check_estimator(ESTIMATORS[method](backend=backend), on_skip=None)
    statuses = [result["status"] for result in results if result["check_name"] != "check_array_api_input"]
    assert set(statuses) == {"passed"}
    assert len(statuses) > 40


def test_importing_the_package_imports_no_scikit_learn():
    code = "import sys, orfit_bench; orfit_bench.create('lms'); sys.exit('sklearn' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("method", ESTIMATORS)
def test_signatures_and_docstrings_are_generated_from_the_declaration(method):
    estimator, declared = ESTIMATORS[method], ob.methods()[method]
    shown = inspect.signature(estimator).parameters
    for s in declared.settings:
        assert shown[s.name].default == s.default
        assert f"{s.name} : {s.type}" in estimator.__doc__
        assert s.meaning in estimator.__doc__
    assert "Parameters\n----------" in estimator.__doc__
    assert "sample_weight" not in shown
    with pytest.raises(TypeError, match="has no parameter"):
        estimator(no_such_setting=1)
    assert pickle.loads(pickle.dumps(estimator)) is estimator
    assert set(estimator().get_params()) == set(shown)


def test_classes_have_names_and_plugins_are_included():
    from orfit_bench import sklearn

    assert sklearn.RlsRegressor is ESTIMATORS["rls"]
    assert [ESTIMATORS[n].__name__ for n in ("class_rls", "oja")] == ["ClassRlsClassifier", "OjaTransformer"]
    assert set(ESTIMATORS) == set(ob.methods())
    with pytest.raises(AttributeError, match="no estimator 'NoRegressor'"):
        sklearn.NoRegressor  # noqa: B018
    with pytest.raises(KeyError):
        ESTIMATORS["no method"]


# ---------------------------------------------------------------------- numbers


@pytest.mark.parametrize("outputs", [None, 2])
def test_rls_equals_linear_regression(outputs):
    X, y = data(outputs=outputs)
    mine, theirs = ESTIMATORS["rls"](ridge=1e-6).fit(X, y), LinearRegression().fit(X, y)
    np.testing.assert_allclose(mine.predict(X), theirs.predict(X), atol=1e-6)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(mine.intercept_, theirs.intercept_, atol=1e-6)
    assert mine.score(X, y) == pytest.approx(theirs.score(X, y))


def test_rls_without_intercept_equals_ridge():
    X, y = data()
    mine, theirs = ESTIMATORS["rls"](ridge=2.0, fit_intercept=False), Ridge(alpha=2.0, fit_intercept=False)
    np.testing.assert_allclose(mine.fit(X, y).coef_, theirs.fit(X, y).coef_, rtol=1e-10)
    assert mine.intercept_ == 0.0


@pytest.mark.parametrize("fitted", [True, False])
def test_parameters_that_are_set_later_change_no_fitted_intercept(fitted):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 4))
    y = X.sum(axis=1) + 1
    model = ESTIMATORS["rls"](backend="numpy", fit_intercept=fitted).fit(X, y)
    coef, intercept, found = model.coef_, model.intercept_, model.predict(X)
    model.set_params(fit_intercept=not fitted)
    np.testing.assert_allclose(model.coef_, coef, rtol=0)
    assert model.intercept_ == intercept
    np.testing.assert_allclose(model.predict(X), found, rtol=0)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(model)).predict(X), found, rtol=0)
    assert (model.fit(X, y).intercept_ != 0) != fitted


@pytest.mark.parametrize(
    ("method", "before", "after"),
    [
        ("rls", {"ridge": 1.0}, {"ridge": 2.0}),
        ("rls", {"fit_intercept": True}, {"fit_intercept": False}),
        ("sgd", {"model": MLP([3])}, {"model": None}),
        ("kalman", {"transition": np.array([[0.5]])}, {"transition": np.array([[0.6]])}),
        ("softmax", {"step_size": 0.1}, {"step_size": 0.2}),
        ("oja", {"n_components": 2}, {"n_components": 3}),
    ],
)
def test_partial_fit_refuses_parameters_that_were_changed(method, before, after):
    X, y = data(40)
    if method == "softmax":
        y = np.where(y > 0, "a", "b")
    model = ESTIMATORS[method](backend="numpy", **before).partial_fit(X[:, :1] if method == "kalman" else X, y)
    X = X[:, : model.n_features_in_]
    answer = model.transform if method == "oja" else model.predict
    found = answer(X)
    model.set_params(**after)
    (name,) = after
    for one in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        with pytest.raises(ValueError, match=f"{name} was .* when the first rows were learned, and is .*; call fit"):
            one.partial_fit(X, y)
        np.testing.assert_array_equal(getattr(one, answer.__name__)(X), found)
    model.set_params(**before).partial_fit(X, y)


def test_a_failed_fit_leaves_what_was_fitted():
    X, y = data(40)
    labels = np.where(y > 0, "a", "b")
    for method, targets in (("rls", y), ("class_rls", labels)):
        model = ESTIMATORS[method](backend="numpy").fit(X, targets)
        found = model.predict(X)
        with pytest.raises(ValueError, match="ridge=-1"):
            model.set_params(ridge=-1, fit_intercept=False).fit(X, targets[::-1])
        np.testing.assert_array_equal(model.predict(X), found)
        model.set_params(ridge=1.0, fit_intercept=True).partial_fit(X, targets)


def test_a_failed_call_leaves_no_labels_or_means():
    X, y = data(40)
    model = ESTIMATORS["softmax"](backend="numpy", step_size=0.1).partial_fit(X, np.where(y > 0, "a", "b"))
    with pytest.raises(ValueError, match="step_size was"):
        model.set_params(step_size=0.2).partial_fit(X, np.repeat("c", 40))
    model.set_params(step_size=0.1).partial_fit(X, np.repeat("d", 40))
    assert model.classes_.tolist() == ["a", "b", "d"]
    assert set(model.predict(X)) <= {"a", "b", "d"}
    twin = ESTIMATORS["oja"](backend="numpy", n_components=1).partial_fit(X)
    pca = copy.deepcopy(twin).set_params(n_components=2)
    with pytest.raises(ValueError, match="n_components was"):
        pca.partial_fit(X + 100.0)
    np.testing.assert_array_equal(pca.set_params(n_components=1).partial_fit(X).mean_, twin.partial_fit(X).mean_)


def test_the_classifier_equals_the_ridge_classifier():
    X, y = data()
    labels = np.array(["a", "b", "c"])[np.digitize(y, np.quantile(y, [0.3, 0.6]))]
    mine, theirs = ESTIMATORS["class_rls"](ridge=1e-6), RidgeClassifier(alpha=1e-6)
    np.testing.assert_array_equal(mine.fit(X, labels).predict(X), theirs.fit(X, labels).predict(X))
    np.testing.assert_array_equal(mine.classes_, ["a", "b", "c"])
    assert mine.coef_.shape == (3, 4)
    assert mine.intercept_.shape == (3,)


def test_classes_of_partial_fit():
    X, _ = data()
    labels = np.array(["b", "a", "c"])[np.arange(80) % 3]
    known = ESTIMATORS["class_rls"]().partial_fit(X[:1], labels[:1], classes=["a", "b", "c"])
    assert known.decision_function(X).shape == (80, 3)
    with pytest.raises(ValueError, match="'z' is not among the classes"):
        known.partial_fit(X[:1], ["z"])
    with pytest.raises(ValueError, match="but the first call had"):
        known.partial_fit(X[:1], ["a"], classes=["a"])
    growing = ESTIMATORS["class_rls"]().partial_fit(X[:1], labels[:1])
    assert growing.classes_.tolist() == ["b"]
    for a in (known, growing):
        a.partial_fit(X[1:], labels[1:])
        np.testing.assert_array_equal(a.predict(X), ESTIMATORS["class_rls"]().fit(X, labels).predict(X))
    assert growing.classes_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("method", REGRESSORS)
def test_chunks_of_partial_fit_make_no_difference(method):
    X, y = (a / 10 for a in data(60))
    complete, parts = ESTIMATORS[method]().fit(X, y), ESTIMATORS[method]()
    for chunk in np.array_split(np.arange(60), 7):
        parts.partial_fit(X[chunk], y[chunk])
    rounding = 1e-12 if method == "ridge" else 0  # ridge sums the rows of a chunk in one product
    np.testing.assert_allclose(parts.predict(X), complete.predict(X), rtol=rounding)
    assert parts.n_samples_seen_ == complete.n_samples_seen_ == 60


def test_which_methods_take_weights():
    for name in ESTIMATORS:
        taken = "sample_weight" in inspect.signature(ESTIMATORS[name].fit).parameters
        assert taken == (name in WEIGHTED)
    X, y = data()
    with pytest.raises(TypeError, match="sample_weight"):
        ESTIMATORS["lms"]().fit(X, y, sample_weight=np.ones(80))
    for wrong in (np.ones(3), -np.ones(80), np.full(80, np.nan), np.zeros(80)):
        with pytest.raises(ValueError, match="sample_weight"):
            ESTIMATORS["rls"]().fit(X, y, sample_weight=wrong)


@pytest.mark.parametrize("method", WEIGHTED)
def test_an_integer_weight_equals_repetitions(method):
    X, y = data()
    y = (y > 0) if method == "class_rls" else y
    weights = np.arange(80) % 4
    weighted = ESTIMATORS[method]().fit(X, y, sample_weight=weights)
    repeated = ESTIMATORS[method]().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9)
    first = ESTIMATORS[method]().partial_fit(X[:30], y[:30], sample_weight=weights[:30])
    first.partial_fit(X[30:], y[30:], sample_weight=weights[30:])
    np.testing.assert_allclose(first.coef_, weighted.coef_, rtol=1e-12)


def test_a_filter_moves_its_intercept_only_on_request():
    X, y = data()
    assert len(ESTIMATORS["kalman"](transition=np.eye(4)).fit(X, y).coef_) == 4
    assert ESTIMATORS["kalman"](fit_intercept=True).fit(X, y).intercept_ != 0


def test_methods_without_weights_have_no_coefficients():
    X, y = data()
    for name in ("greedy", "owm"):
        with pytest.raises(AttributeError, match="does not fit a linear model"):
            _ = ESTIMATORS[name]().fit(X / 10, y / 10).coef_


def test_a_model():
    X, y = (a / 5 for a in data())
    network = ESTIMATORS["rls"](model=ob.MLP((4,)), random_state=3).fit(X, y)
    twin = clone(network).fit(X, y)
    np.testing.assert_array_equal(twin.predict(X), network.predict(X))
    assert network.score(X, y) > 0.8


# ---------------------------------------------------------------------- subspaces


def test_components_equal_those_of_pca():
    X, _ = data(200)
    mine, theirs = ESTIMATORS["incremental_pca"](n_components=4), PCA(4)
    Z, want = mine.fit_transform(X), theirs.fit_transform(X)
    np.testing.assert_allclose(mine.mean_, theirs.mean_)
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_"):
        np.testing.assert_allclose(getattr(mine, name), getattr(theirs, name), rtol=1e-10)
    np.testing.assert_allclose(abs(mine.components_), abs(theirs.components_), atol=1e-10)
    np.testing.assert_allclose(abs(Z), abs(want), atol=1e-9)
    np.testing.assert_allclose(mine.inverse_transform(Z), X, atol=1e-10)
    np.testing.assert_allclose(
        ESTIMATORS["incremental_pca"](whiten=True, n_components=4).fit_transform(X).std(0, ddof=1), 1
    )


@pytest.mark.parametrize("method", SUBSPACES)
def test_subspace_does_not_depend_on_the_chunks(method):
    X, _ = data(100)
    complete, parts = ESTIMATORS[method]().fit(X), ESTIMATORS[method]()
    for chunk in np.array_split(np.arange(100), 9):
        parts.partial_fit(X[chunk])
    assert parts.learner_.to_bytes() == complete.learner_.to_bytes()
    np.testing.assert_array_equal(parts.mean_, complete.mean_)
    np.testing.assert_allclose(parts.components_ @ parts.components_.T, np.eye(2), atol=1e-12)
    assert 0 < parts.explained_variance_ratio_.sum() < 1
    variances = parts.explained_variance_ratio_ * X.var(axis=0, ddof=1).sum()
    np.testing.assert_allclose(parts.explained_variance_, variances, rtol=1e-10)
    assert parts.get_feature_names_out().tolist() == [f"{type(parts).__name__.lower()}{i}" for i in range(2)]


def test_nothing_is_centred_where_that_is_not_wanted():
    X, _ = data()
    plain = ESTIMATORS["incremental_pca"](n_components=4, center=False).fit(X)
    assert not plain.mean_.any()
    values = np.linalg.svd(X)[1]
    np.testing.assert_allclose(plain.explained_variance_, values**2 / 79, rtol=1e-10)


# ---------------------------------------------------------------------- tools


@pytest.mark.parametrize("backend", BACKENDS)
def test_pipelines_searches_and_scores(backend):
    X, y = data(120)
    pipeline = make_pipeline(StandardScaler(), ESTIMATORS["nlms"](backend=backend))
    search = GridSearchCV(pipeline, {"nlmsregressor__step_size": [1e-6, 0.3]}, n_jobs=2).fit(X, y)
    assert search.best_params_ == {"nlmsregressor__step_size": 0.3}
    halving = HalvingGridSearchCV(pipeline, {"nlmsregressor__step_size": [1e-6, 0.3]}, random_state=0).fit(X, y)
    assert halving.best_params_ == search.best_params_
    assert cross_val_score(ESTIMATORS["rls"](backend=backend, ridge=1e-6), X, y).min() > 0.98
    labels = y > np.median(y)
    chain = make_pipeline(ESTIMATORS["oja"](n_components=3), ESTIMATORS["class_rls"](backend=backend))
    assert chain.fit(X, labels).score(X, labels) > 0.6


def test_names_of_features():
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcd"))
    rls = ESTIMATORS["rls"]().fit(frame, y)
    assert rls.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names should match"):
        rls.predict(frame[list("dcba")])
    pca = ESTIMATORS["incremental_pca"]().set_output(transform="pandas").fit(frame)
    assert pca.transform(frame).columns.tolist() == ["incrementalpcatransformer0", "incrementalpcatransformer1"]


def test_metadata_routing():
    X, y = data()
    set_config(enable_metadata_routing=True)
    try:
        rls = ESTIMATORS["rls"]().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        weights = np.arange(80) % 4
        search = GridSearchCV(rls, {"ridge": [1.0]}, cv=2).fit(X, y, sample_weight=weights)
    finally:
        set_config(enable_metadata_routing=False)
    want = ESTIMATORS["rls"](ridge=1.0).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(search.best_estimator_.predict(X), want.predict(X))


@pytest.mark.parametrize("shape", [(2, 1), (2, 3), (2,), ()])
@pytest.mark.parametrize("method", ["oja", "incremental_pca"])
def test_coordinates_of_another_shape_are_refused(method, shape):
    X, _ = data()
    fitted = ESTIMATORS[method](n_components=2).fit(X)
    with pytest.raises(ValueError, match=r"want \(n, 2\), a column for each row of components_"):
        fitted.inverse_transform(np.ones(shape))


@pytest.mark.parametrize(
    ("method", "name"), [("rls", "fit_intercept"), ("class_rls", "fit_intercept"), ("oja", "center"), ("oja", "whiten")]
)
def test_switches_are_true_or_false(method, name):
    X, y = data()
    with pytest.raises(TypeError, match=f"{name}='False': want True or False"):
        ESTIMATORS[method](**{name: "False"}).fit(X, y > 0 if method == "class_rls" else y)


def test_divergence_is_an_error_that_says_so():
    X, y = data()
    with pytest.raises(ValueError, match="lms diverged at step"):
        ESTIMATORS["lms"](step_size=1e6).fit(X, y)


@pytest.mark.parametrize("method", ["kalman", "ridge", "rls"])
def test_standard_deviations(method):
    X, y = data()
    estimator = ESTIMATORS[method](**({} if method == "kalman" else {"fit_intercept": False})).fit(X, y)
    mean, std = estimator.predict(X, return_std=True)
    np.testing.assert_array_equal(mean, estimator.predict(X))
    P = np.linalg.inv(np.eye(4) + X.T @ X)
    np.testing.assert_allclose(std, np.sqrt(1 + np.einsum("ni,ij,nj->n", X, P, X)), rtol=1e-9)
    if method != "kalman":
        np.testing.assert_allclose(estimator.predict(X, return_std=True, noise_variance=4.0)[1], 2 * std)


def test_probabilities_of_a_classifier():
    X, y = data()
    labels = np.array(["z", "b", "a"])[np.digitize(y, np.quantile(y, [0.3, 0.6]))]
    estimator = ESTIMATORS["class_rls"]().partial_fit(X, labels, classes=["a", "b", "never", "z"])
    found = estimator.predict_proba(X)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_array_equal(found[:, 2], 0)
    np.testing.assert_array_equal(estimator.classes_[found.argmax(axis=1)], estimator.predict(X))


def test_only_estimators_that_need_it_are_tagged_with_a_poor_score():
    tagged = {name for name in REGRESSORS if ESTIMATORS[name]().__sklearn_tags__().regressor_tags.poor_score}
    assert tagged == {"lms", "sgd", "gp", "greedy", "icl", "ogd", "orfit"}


@pytest.mark.parametrize("method", ["rls", "class_rls"])
def test_a_later_chunk_may_have_zero_weights_only(method: str) -> None:
    X, y, weights = np.eye(3), np.array([0, 1, 0]), np.array([1.0, 2.0, 0.0])
    parts = ESTIMATORS[method]()
    for part in (slice(0, 2), slice(2, 3)):
        parts.partial_fit(X[part], y[part], sample_weight=weights[part])
    np.testing.assert_allclose(parts.predict(X), ESTIMATORS[method]().fit(X, y, sample_weight=weights).predict(X))
    with pytest.raises(ValueError, match="all weights are zero"):
        ESTIMATORS[method]().partial_fit(X, y, sample_weight=np.zeros(3))


@pytest.mark.parametrize("chunk", [100, 37, 7, 1])
@pytest.mark.parametrize("method", SUBSPACES)
def test_rows_that_wait_for_their_step_count_once(method: str, chunk: int) -> None:
    """Variances along all directions do not depend on how rows are cut into calls, shorter than a step or not."""
    X = np.random.default_rng(0).standard_normal((150, 4)) * [5, 3, 0.1, 0.1]
    given = {"n_components": 4, "batch_size": 40, "random_state": 0}
    given |= {"step_size": 1e-3} if "step_size" in inspect.signature(ESTIMATORS[method]).parameters else {}
    parts = ESTIMATORS[method](**given)
    for start in range(0, len(X), chunk):
        parts.partial_fit(X[start : start + chunk])
    assert parts.learner_.pending == 30
    np.testing.assert_allclose(parts.explained_variance_, PCA().fit(X).explained_variance_, rtol=1e-8)


@pytest.mark.parametrize("method", ["lms", "rls", "ridge", "kalman", "sgd", "class_rls", "softmax"])
def test_weights_are_those_of_the_learner_and_no_view_of_it(method):
    X = np.random.default_rng(0).normal(size=(30, 4)) / 3
    labels = ob.methods()[method].traits.labels
    estimator = ESTIMATORS[method](backend="numpy").fit(X, X[:, 0] > 0 if labels else X[:, 0])
    answer = estimator.decision_function if labels else estimator.predict
    before = answer(X)
    np.testing.assert_allclose(X @ estimator.coef_.T + estimator.intercept_, before, rtol=1e-9, atol=1e-12)
    estimator.coef_[:] = 7
    np.testing.assert_array_equal(answer(X), before)
    tracemalloc.start()
    try:
        wide = ESTIMATORS["lms"](backend="numpy", step_size=1e-5).fit(np.ones((2, 3000)), [1.0, 2.0])
        tracemalloc.reset_peak()
        assert wide.coef_.shape == (3000,)
        assert tracemalloc.get_traced_memory()[1] < 2e6
    finally:
        tracemalloc.stop()
