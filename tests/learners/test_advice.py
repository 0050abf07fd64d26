"""Attributes that a learner or an estimator lacks: the message names what has them, and only existing things."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.sklearn import ESTIMATORS

rng = np.random.default_rng(0)
X = rng.standard_normal((12, 3))
GIVEN = {"rls": (X, X[:, 0]), "class_rls": (X, X[:, 0] > 0), "kalman": (X, X[:, 0]), "oja": (X,), "gp": (X, X[:, 0])}
NAMES = [
    "classes_",
    "coef_",
    "components_",
    "decision_function",
    "explained_variance_",
    "explained_variance_ratio_",
    "feature_names_in_",
    "fit",
    "fit_transform",
    "get_params",
    "intercept_",
    "inverse_transform",
    "learn_one",
    "mean_",
    "predict",
    "predict_log_proba",
    "predict_one",
    "predict_proba",
    "score",
    "singular_values_",
    "transform",
]


def learner(method):
    given = {"model": ob.MLP((2,))} if method == "gp" else {}
    return ob.create(method, backend="numpy", **given).partial_fit(*GIVEN[method])


def estimator(method):
    return ESTIMATORS[method]().fit(*GIVEN[method])


def fleet(method):
    return ob.fleet(method, 2, backend="numpy")


NUMBERS = "learn_one predict predict_one predict_proba"
COEFFICIENTS = "coef_ fit get_params intercept_ predict score"
PRESENT = {
    learner: {
        "rls": NUMBERS,
        "class_rls": f"{NUMBERS} classes_ decision_function",
        "kalman": NUMBERS,
        "oja": "components_ inverse_transform learn_one transform",
        "gp": NUMBERS,
    },
    estimator: {
        "rls": COEFFICIENTS,
        "class_rls": f"{COEFFICIENTS} classes_ decision_function predict_proba",
        "kalman": COEFFICIENTS,
        "oja": "components_ explained_variance_ explained_variance_ratio_ fit fit_transform get_params "
        "inverse_transform mean_ singular_values_ transform",
        "gp": "fit get_params predict score",
    },
    fleet: {
        "rls": "feature_names_in_ predict predict_proba",
        "class_rls": "classes_ decision_function feature_names_in_ predict predict_proba",
        "kalman": "feature_names_in_ predict predict_proba",
        "oja": "feature_names_in_ transform",
    },
}
"""The attributes that each kind of learner has; it lacks the other NAMES."""


def missing(make):
    """Each method with each attribute that its learners lack."""
    return [(method, name) for method, found in PRESENT[make].items() for name in NAMES if name not in found.split()]


@pytest.mark.parametrize(
    ("make", "method", "name"), [(make, *pair) for make in (learner, estimator) for pair in missing(make)]
)
def test_a_missing_attribute_is_explained(make, method, name):
    with pytest.raises(AttributeError, match=f"{name}|coefficients") as error:
        getattr(make(method), name)
    assert "object has no attribute" not in str(error.value)


@pytest.mark.parametrize("make", PRESENT)
def test_the_other_attributes_are_present(make):
    for method, found in PRESENT[make].items():
        assert set(found.split()) <= set(dir(make(method)))


@pytest.mark.parametrize(("method", "name"), missing(fleet))
def test_a_missing_attribute_of_a_fleet_is_explained(method, name):
    with pytest.raises(AttributeError, match=f"a fleet of {method} has no {name}: "):
        getattr(fleet(method), name)


@pytest.mark.parametrize(
    ("method", "name"), [("kalman", "log_likelihood"), ("kalman", "smooth"), ("lms", "settings"), ("oja", "array")]
)
def test_members_have_what_their_fleet_lacks(method, name):
    with pytest.raises(AttributeError, match=rf"has no {name}: members have it: fleet\[i\]\.{name}"):
        getattr(fleet(method), name)
    assert hasattr(fleet(method)[0], name)


def test_a_fleet_without_an_attribute_is_copied_and_has_no_other():
    first = fleet("rls").partial_fit(np.ones((2, 3, 1)), np.ones((2, 3)))
    for other in (copy.copy(first), copy.deepcopy(first), pickle.loads(pickle.dumps(first))):
        assert other.n_samples_seen_.tolist() == [3, 3]
    with pytest.raises(AttributeError, match="object has no attribute 'nonsense'"):
        _ = first.nonsense


def test_what_the_advice_names_is_there():
    oja = learner("oja")
    with pytest.raises(AttributeError, match=r"ob\.pipeline\(ob\.Standardizer\(scale=False\), learner\)") as error:
        _ = oja.mean_
    assert "ESTIMATORS['oja'] has mean_" in str(error.value)
    pipeline = ob.pipeline(ob.Standardizer(scale=False), ob.create("oja", backend="numpy")).partial_fit(X)
    np.testing.assert_allclose(pipeline.transforms[0].mean_, X.mean(axis=0))
    np.testing.assert_allclose(estimator("oja").mean_, X.mean(axis=0))
    with pytest.raises(AttributeError, match=r'learner\.array\("mean"\)'):
        _ = learner("kalman").coef_
    assert learner("kalman").array("mean").shape == (3, 1)
    with pytest.raises(AttributeError, match="class_rls, softmax"):
        _ = estimator("rls").predict_proba
    with pytest.raises(AttributeError, match="these methods are filters and have it: kalman"):
        _ = learner("rls").smooth


def test_variances_follow_by_the_formulas_of_the_advice():
    centred = X - X.mean(axis=0)
    pca = ob.create("incremental_pca", n_components=3, backend="numpy").partial_fit(centred)
    with pytest.raises(AttributeError, match=r"X\.var\(axis=0, ddof=1\)\.sum\(\)"):
        _ = pca.explained_variance_ratio_
    np.testing.assert_allclose((pca.explained_variance_ / X.var(axis=0, ddof=1).sum()).sum(), 1)
    with pytest.raises(AttributeError, match=r"sqrt\(\(n_samples_seen_ - 1\) \* explained_variance_\)"):
        _ = pca.singular_values_
    singular_values = np.linalg.svd(centred, compute_uv=False)
    np.testing.assert_allclose(np.sqrt((pca.n_samples_seen_ - 1) * pca.explained_variance_), singular_values)


def test_standard_deviations_are_refused_by_the_methods_that_have_them():
    for model in (learner("gp"), ESTIMATORS["lms"]().fit(X, X[:, 0])):
        with pytest.raises(TypeError, match=r"without a distribution; these methods have one: kalman, ridge, rls"):
            model.predict(X, return_std=True)


@pytest.mark.parametrize("name", ["mean_", "components_", "explained_variance_", "learner_"])
def test_an_estimator_before_fit_says_so(name):
    with pytest.raises(AttributeError, match=f"not fitted yet and has no {name}: call fit"):
        getattr(ESTIMATORS["oja"](), name)


def test_an_unknown_attribute_is_refused_as_python_does():
    for model in (learner("rls"), estimator("rls")):
        with pytest.raises(AttributeError, match="object has no attribute 'nonsense'"):
            _ = model.nonsense
        assert repr(copy.deepcopy(model)) == repr(pickle.loads(pickle.dumps(model))) == repr(model)


def test_a_pipeline_says_where_an_attribute_is():
    pipeline = ob.pipeline("standardize", "intercept", ob.create("rls", backend="numpy")).partial_fit(X, X[:, 0])
    for name, place in (("mean_", r"transforms\[0\]"), ("array", "learner"), ("step", "learner")):
        with pytest.raises(AttributeError, match=rf"a pipeline has no {name}: it is pipeline\.{place}\.{name}"):
            getattr(pipeline, name)
    with pytest.raises(AttributeError, match=r"weights\(\) returns the weights of rows as they come"):
        _ = pipeline.coef_
    assert pipeline.weights().shape == (4, 1)
    with pytest.raises(AttributeError, match="object has no attribute 'nonsense'"):
        _ = pipeline.nonsense


def test_an_array_of_the_state_is_no_attribute():
    for name in ("w", "P"):
        with pytest.raises(AttributeError, match=rf'learner\.array\("{name}"\)'):
            getattr(learner("rls"), name)
        assert learner("rls").array(name).size


def test_samples_and_labels_in_the_wrong_place_get_a_remedy():
    rls = ob.create("rls", backend="numpy")
    with pytest.raises(ValueError, match=r"ob\.delay_line\(X, taps\)"):
        rls.partial_fit(X[:, 0], X[:, 0])
    with pytest.raises(ValueError, match=r"ob\.DelayLine makes rows of samples"):
        rls.learn_one(1.0, 2.0)
    with pytest.raises(TypeError, match="labels are for methods of classification, such as class_rls"):
        rls.partial_fit(X, ["a"] * len(X))
    with pytest.raises(AttributeError, match=r"'RLSRegressor': did you mean 'RlsRegressor'\?"):
        ESTIMATORS.by_class_name("RLSRegressor")


@pytest.mark.parametrize(
    ("name", "call", "given", "message"),
    [
        ("kalman", "predict", {"noise_variance": 2.0}, "no argument 'noise_variance': the noise is the setting obs"),
        (
            "kalman",
            "predict",
            {"return_stdev": True},
            r"'return_stdev'\. Did you mean 'return_std'\? Known: X",
        ),
        (
            "kalman",
            "log_likelihood",
            {"noise_variance": 2.0},
            "log_likelihood of kalman has no .*observation_noise=",
        ),
        ("kalman", "log_likelihood", {"weights": [1.0]}, "no argument 'weights'.*sample_weight"),
        (
            "class_rls",
            "predict",
            {"return_std": True},
            "predict of class_rls has no argument 'return_std': .*predict_",
        ),
        ("softmax", "predict", {"noise_variance": 2.0}, "predict of softmax has no argument 'noise_variance': labels"),
    ],
)
def test_arguments_of_other_kinds_of_learners_are_refused_with_what_to_do(name, call, given, message):
    y = X[:, 0] if name == "kalman" else X[:, 0] > 0
    learner = ob.create(name, backend="numpy").partial_fit(X, y)
    with pytest.raises(TypeError, match=message):
        getattr(learner, call)(*((X, y) if call == "log_likelihood" else (X,)), **given)


@pytest.mark.parametrize(
    "model",
    [
        ob.create("rls", backend="numpy"),
        ob.pipeline("standardize", ob.create("rls", backend="numpy")),
        ob.fleet("rls", 2, backend="numpy"),
    ],
    ids=["learner", "pipeline", "fleet"],
)
def test_a_setting_cannot_be_assigned(model):
    with pytest.raises(AttributeError, match="forgetting_factor cannot be assigned, since it is fixed when a learner"):
        model.forgetting_factor = 0.5
    for name in ("settings", "dtype", "random_state"):
        with pytest.raises(AttributeError, match=f"{name} cannot be assigned"):
            setattr(model, name, None)
    model.note = "an attribute that means nothing to the learner"
    assert model.note


@pytest.mark.parametrize("name", ["settings", "dtype", "random_state"])
def test_what_the_rule_determines_cannot_be_assigned(name):
    model = learner("rls")
    before = getattr(model, name)
    with pytest.raises(AttributeError, match=f"{name} cannot be assigned"):
        setattr(model, name, None)
    assert getattr(model, name) is before


def test_settings_are_read_from_settings():
    with pytest.raises(AttributeError, match=r'its settings are in learner\.settings\["forgetting_factor"\]'):
        _ = learner("rls").forgetting_factor


@pytest.mark.parametrize(("kind", "remedy"), [(ob.Learner, "orfit_bench.create"), (ob.Fleet, "orfit_bench.fleet")])
def test_a_class_named_instead_of_its_function_is_explained(kind, remedy):
    with pytest.raises(TypeError, match=f"got 'rls'.*{remedy}"):
        kind("rls")
