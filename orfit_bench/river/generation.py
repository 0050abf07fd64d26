"""Model classes for River, generated from the declarations of methods."""

from __future__ import annotations

from typing import Any

from orfit_bench.generated import Parameters, make_class, setting_parameters
from orfit_bench.plugins.discovery import camel_case
from orfit_bench.river.classifier import StreamingClassifier
from orfit_bench.river.regressor import StreamingRegressor
from orfit_bench.river.transformer import StreamingTransformer
from orfit_bench.spec import Method


def base_class(method: Method) -> Any:
    """The base class of the model of a method."""
    if not method.traits.supervised:
        return StreamingTransformer
    return StreamingClassifier if method.traits.labels else StreamingRegressor


def class_name(method: Method) -> str:
    """The name in the style of River, with the kind at the end: RlsRegressor."""
    base: type = base_class(method)
    return camel_case(method.name) + base.__name__.removeprefix("Streaming")


def parameters(method: Method) -> Parameters:
    """The parameters of a model: the method's settings, then those of all methods of its kind."""
    found = setting_parameters(method)
    if method.traits.supervised:
        meaning = "Whether a constant feature is added; its weight is learned like all others."
        found["fit_intercept"] = (not method.traits.gaps, f"bool, default {not method.traits.gaps}\n{meaning}")
    found["backend"] = (
        "auto",
        "str, default 'auto'\nName of a backend. By default 'numba', the fastest for single rows, if it is\n"
        "installed and has the method, else 'numpy'.",
    )
    found["seed"] = (0, "int, default 0\nSeed of the random numbers.")
    return found


def build(method: Method) -> Any:
    """The model class of a method."""
    return make_class(base_class(method), class_name(method), "orfit_bench.river", method, parameters(method))
