"""Names of settings and methods in other libraries and textbooks, for which messages suggest the names used here.

Synonyms are never accepted. A name is suggested only if the method has no setting of that name.
"""

from __future__ import annotations

from collections.abc import Iterable

from orfit_bench.errors import suggest

OF_SETTINGS = {
    "a": ("transition",),
    "alpha": ("step_size", "ridge"),
    "beta": ("forgetting_factor",),
    "buffer": ("memory",),
    "buffer_size": ("memory",),
    "delta": ("ridge", "eps"),
    "epsilon": ("eps",),
    "eta": ("step_size",),
    "eta0": ("step_size",),
    "f": ("transition",),
    "ff": ("forgetting_factor",),
    "gamma": ("forgetting_factor",),
    "k": ("n_components", "projection_order"),
    "l": ("projection_order",),
    "l2": ("ridge",),
    "lam": ("forgetting_factor", "ridge"),
    "lambda": ("forgetting_factor", "ridge"),
    "lambda_": ("forgetting_factor", "ridge"),
    "leak": ("leakage", "ridge"),
    "leakage": ("ridge",),
    "learning_rate": ("step_size",),
    "lmbda": ("forgetting_factor", "ridge"),
    "lr": ("step_size",),
    "m": ("memory", "n_components"),
    "m0": ("initial_mean",),
    "mu": ("step_size",),
    "n": ("projection_order",),
    "order": ("projection_order",),
    "p": ("initial_covariance",),
    "p0": ("initial_covariance", "ridge"),
    "penalty": ("ridge",),
    "q": ("process_noise",),
    "r": ("observation_noise",),
    "rank": ("n_components",),
    "regularization": ("ridge", "eps"),
    "weight_decay": ("ridge",),
    "x0": ("initial_mean",),
}
"""The more likely setting comes first; names are in lower case."""

OF_METHODS = {
    "adaline": "lms",
    "affine_projection": "apa",
    "ap": "apa",
    "ekf": "kalman, with a model that is not linear",
    "extended_kalman": "kalman, with a model that is not linear",
    "extended_kalman_filter": "kalman, with a model that is not linear",
    "hebbian": "sanger",
    "gha": "sanger",
    "ipca": "incremental_pca",
    "kalman_filter": "kalman",
    "kf": "kalman",
    "leaky_lms": "sgd, with the leakage as ridge",
    "linear_regression": "rls",
    "logistic": "sgd, with loss='logistic'; softmax for several classes",
    "logistic_regression": "sgd, with loss='logistic'; softmax for several classes",
    "normalized_lms": "nlms",
    "pca": "incremental_pca",
    "recursive_least_squares": "rls",
    "ridge_regression": "ridge",
    "sign_lms": "sgd, with loss='absolute'",
    "sign_error_lms": "sgd, with loss='absolute'",
    "svm": "sgd, with loss='hinge'",
    "widrow_hoff": "lms",
}
"""Names are in lower case, without hyphens."""


def suggest_setting(name: object, known: Iterable[str]) -> str:
    """The end of a message about an unknown setting: the setting probably meant, and all settings."""
    known = list(known)
    own = (other for other in OF_SETTINGS.get(str(name).lower(), ()) if other in known)
    return suggest(name, known, next(own, None))


def suggest_method(name: object, known: Iterable[str]) -> str:
    """The end of a message about an unknown method: the method probably meant, and all methods."""
    known = list(known)
    method, _, how = OF_METHODS.get(str(name).lower().replace("-", "_"), "").partition(", ")
    return suggest(name, known, method, how) if method in known else suggest(name, known)
