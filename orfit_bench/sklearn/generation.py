"""Estimator classes for scikit-learn, generated from the declarations of methods."""

from __future__ import annotations

from orfit_bench.generated import Parameters, make_class, setting_parameters
from orfit_bench.plugins.discovery import camel_case
from orfit_bench.sklearn.base import StreamingEstimator
from orfit_bench.sklearn.classifier import StreamingClassifier, WeightedClassifier
from orfit_bench.sklearn.regressor import ProbabilisticRegressor, StreamingRegressor, WeightedRegressor
from orfit_bench.sklearn.transformer import StreamingTransformer
from orfit_bench.spec import Method

ATTRIBUTES: dict[type, str] = {
    StreamingRegressor: "coef_ : ndarray, shape (d,) or (outputs, d)\n    Weights of the features, on a linear model.\n"
    "intercept_ : float or ndarray, shape (outputs,)\n    Weight of the constant, on a linear model.",
    StreamingClassifier: "classes_ : ndarray\n    The labels, sorted.\n"
    "coef_ : ndarray, shape (d,) or (classes, d)\n    Weights of the features.\n"
    "intercept_ : float or ndarray, shape (classes,)\n    Weights of the constant.",
    StreamingTransformer: "components_ : ndarray, shape (k, d)\n    Directions of largest variance, in order.\n"
    "explained_variance_ : ndarray, shape (k,)\n    Variance along each of them.\n"
    "explained_variance_ratio_ : ndarray, shape (k,)\n    Its share of the variance of all rows.\n"
    "singular_values_ : ndarray, shape (k,)\n    Square roots of the sums of squares along them.\n"
    "mean_ : ndarray, shape (d,)\n    Mean of the rows.",
}
ATTRIBUTES[WeightedRegressor] = ATTRIBUTES[ProbabilisticRegressor] = ATTRIBUTES[StreamingRegressor]
ATTRIBUTES[WeightedClassifier] = ATTRIBUTES[StreamingClassifier]
LEARNER = "learner_ : learner\n    The underlying learner; see `orfit_bench.create`."


def base_class(method: Method) -> type[StreamingEstimator]:
    """The base class of the estimator of a method."""
    traits, weighting = method.traits, method.kernel.weighting
    if not traits.supervised:
        return StreamingTransformer
    weighted = weighting is not None and not weighting.repeats_rows  # repetitions depend on the order of the rows
    if traits.labels:
        return WeightedClassifier if weighted else StreamingClassifier
    if weighted and (method.state.covariance or traits.gaps):
        return ProbabilisticRegressor
    return WeightedRegressor if weighted else StreamingRegressor


def class_name(method: Method) -> str:
    """The name in the style of scikit-learn, with the kind at the end: RlsRegressor."""
    if not method.traits.supervised:
        return camel_case(method.name) + "Transformer"
    return camel_case(method.name) + ("Classifier" if method.traits.labels else "Regressor")


def parameters(method: Method) -> Parameters:
    """The parameters of an estimator: the method's settings, then those of all methods of its kind."""
    found = setting_parameters(method)
    if method.traits.supervised:
        meaning = "Whether a constant column is added to the rows; its weight is learned like all others."
        found["fit_intercept"] = (not method.traits.gaps, f"bool, default {not method.traits.gaps}\n{meaning}")
    else:
        found["center"] = (True, "bool, default True\nWhether the running mean is subtracted from the rows.")
        found["whiten"] = (False, "bool, default False\nWhether coordinates are divided by their standard deviation.")
    if method.kernel.models or method.state.layered:
        default = "a network of 32 hidden units" if method.state.layered else "linear"
        found["model"] = (None, f"orfit_bench.Model, optional\nThe model to fit. Default: {default}.")
    what = "str, default 'auto'\nBackend: 'numpy', 'numba', that of a plugin, or 'auto', the fastest on this CPU."
    found["backend"] = ("auto", what)
    found["random_state"] = (0, "int, RandomState or None, default 0\nSeed of the random numbers.")
    return found


def build(method: Method) -> type[StreamingEstimator]:
    """The estimator class of a method."""
    base = base_class(method)
    attributes = f"{ATTRIBUTES[base]}\n{LEARNER}"
    return make_class(base, class_name(method), "orfit_bench.sklearn", method, parameters(method), attributes)
