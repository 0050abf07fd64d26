"""Messages for attributes and arguments that a learner or an estimator of this kind does not have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from orfit_bench.errors import suggest
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Method

OF_LABELS = ("classes_", "decision_function", "predict_proba", "predict_log_proba")
OF_SUBSPACES = (
    "components_",
    "explained_variance_",
    "explained_variance_ratio_",
    "fit_transform",
    "inverse_transform",
    "singular_values_",
    "transform",
)
OF_WEIGHTS = ("coef_", "intercept_")
OF_ESTIMATORS = ("fit", "fit_predict", "fit_transform", "get_params", "score", "set_params")
OF_SINGLE_ROWS = ("learn_one", "predict_one", "transform_one")
OF_DISTRIBUTIONS = ("return_std", "noise_variance")
VARIANCES = {
    "explained_variance_ratio_": "the variance of all columns is not kept: divide explained_variance_ by "
    "X.var(axis=0, ddof=1).sum()",
    "singular_values_": "they are sqrt((n_samples_seen_ - 1) * explained_variance_)",
}


def refuse_arguments(method: Method, call: str, unknown: Mapping[str, object], known: Sequence[str]) -> None:
    """TypeError for arguments that a call does not have, with what to do instead."""
    for name in unknown:
        advice = suggest(name, known)
        if method.traits.labels and name in OF_DISTRIBUTIONS:
            advice = ": labels have no standard deviation; predict_proba returns their probabilities"
        if method.traits.gaps and name == "noise_variance":
            advice = ": the noise is the setting observation_noise, or the argument observation_noise= of this call"
        raise TypeError(f"{call} of {method.name} has no argument {name!r}{advice}")


FIXED = frozenset({"method", "settings", "backend", "model", "dtype", "random_state", "initial_weights"})
"""Attributes of a learner that follow from its rule: assigning them would not change what it learns."""


def refuse_assignment(learner: object, name: str, method: Method) -> NoReturn:
    """AttributeError for an attribute that is fixed when a learner is created."""
    raise AttributeError(
        f"{name} cannot be assigned, since it is fixed when a learner of {method.name} is created: create another "
        f"learner with the value that you want",
        name=name,
        obj=learner,
    )


def find_attribute(owner: object, name: str, kind: str, about: Callable[[Method, str], str]) -> Any:
    """The result of `__getattr__`: AttributeError says what has an attribute that objects of this kind lack.

    If they have it as a property, the property raises its own error again.
    """
    if not name.startswith("_") and not hasattr(type(owner), name):
        method = vars(owner).get("method")  # not yet there in a copy that is being made
        if method and (advice := about(method, name)):
            raise AttributeError(f"a {kind} of {method.name} has no {name}: {advice}", name=name, obj=owner)
    return object.__getattribute__(owner, name)


def _settings(method: Method) -> set[str]:
    return {setting.name for setting in method.settings}


def about_learner(method: Method, name: str) -> str:
    """Why learners of a method lack an attribute, and what has it instead; empty for an unknown name."""
    if name in _settings(method):
        return f'its settings are in learner.settings["{name}"]'
    estimator = f"orfit_bench.sklearn.ESTIMATORS[{method.name!r}]"
    if name in OF_WEIGHTS and method.state.layered:
        return "it fits a network: learner.state() has the weights of all layers"
    if name in OF_WEIGHTS and method.traits.supervised:
        return (
            f'learner.array("{method.state.weights}") is the array of its weights; {estimator} has coef_ and '
            f"intercept_ of the linear model"
        )
    if name in (method.state.weights, *method.state.names):
        return f'arrays of its state are copied by learner.array("{name}")'
    if name in ("weights", "weights_") and not method.state.layered:
        return f'learner.array("{method.state.weights}") is the array of its weights'
    if name == "mean_":
        return (
            "nothing is centred: ob.pipeline(ob.Standardizer(scale=False), learner).transforms[0].mean_ is the running "
            "mean" + ("" if method.traits.supervised else f"; {estimator} has mean_ too")
        )
    if name in OF_ESTIMATORS:
        return f"a learner learns by partial_fit; {estimator} has what scikit-learn's estimators have"
    return _about_kind(method, name)


def about_fleet(method: Method, learner: type, name: str) -> str:
    """Why fleets of a method lack an attribute, and what has it instead; empty for an unknown name.

    `learner` is the class of its learners.
    """
    if name in OF_SINGLE_ROWS:
        return "pass a row for each member, X (N, 1, d), or rows for some of them with which=; fleet[i] is a learner"
    if name in FIXED or hasattr(learner, name):
        return f"members have it: fleet[i].{name}"
    advice = about_learner(method, name)
    return advice and f"members are learners, learner = fleet[i]; {advice}"


def about_estimator(method: Method, name: str) -> str:
    """Why the estimator of a method lacks an attribute, and what has it instead; empty for an unknown name."""
    if name in OF_SINGLE_ROWS:
        return f"orfit_bench.river.ESTIMATORS[{method.name!r}] learns dictionaries one by one, and learner_ rows"
    if name == "mean_":
        return "it does not centre rows; scikit-learn's StandardScaler does, in a pipeline before it"
    return _about_kind(method, name)


def _about_kind(method: Method, name: str) -> str:
    if name == "predict_log_proba" and method.traits.labels:
        return "take the logarithm of predict_proba"
    if name in OF_LABELS and not method.traits.labels:
        return f"it learns no labels, which these methods do: {_methods(lambda m: m.traits.labels)}"
    if name in OF_SUBSPACES and method.traits.supervised:
        return f"these methods learn subspaces and have it: {_methods(lambda m: not m.traits.supervised)}"
    if name in VARIANCES:
        return VARIANCES[name]
    if name == "smooth":
        return f"these methods are filters and have it: {_methods(lambda m: bool(m.traits.smoothing))}"
    if not method.traits.supervised and name in (*OF_WEIGHTS, "predict", "predict_one", "score"):
        return "it learns a subspace of rows without targets, components_; transform gives the coordinates of rows"
    return ""


def _methods(chosen: Callable[[Method], bool]) -> str:
    return ", ".join(sorted(name for name, method in registry().methods.items() if chosen(method)))
