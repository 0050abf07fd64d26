"""Estimator classes from the declarations of methods: signatures, docstrings and names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from types import new_class
from typing import Any

from orfit_bench.plugins.registry import registry
from orfit_bench.sklearn.base import StreamingEstimator
from orfit_bench.sklearn.classifier import StreamingClassifier
from orfit_bench.sklearn.regressor import StreamingRegressor, WeightedRegressor
from orfit_bench.sklearn.transformer import StreamingTransformer
from orfit_bench.spec import Method

Parameters = dict[str, tuple[Any, str]]
"""Default and documentation by name."""


def base_class(method: Method) -> type[StreamingEstimator]:
    """The class whose methods the estimators of a method have."""
    traits = method.traits
    if not traits.supervised:
        return StreamingTransformer
    if traits.labels:
        return StreamingClassifier
    return WeightedRegressor if method.theory.inverse_gram else StreamingRegressor


def class_name(method: Method) -> str:
    """As scikit-learn writes names, with the kind at the end: RlsRegressor."""
    kinds = {StreamingClassifier: "Classifier", StreamingTransformer: "Transformer"}
    return "".join(part.capitalize() for part in method.name.split("_")) + kinds.get(base_class(method), "Regressor")


def parameters(method: Method) -> Parameters:
    """The parameters of an estimator: the method's settings, then those of all methods of its kind."""
    found: Parameters = {}
    for s in method.settings:
        found[s.name] = (s.default, f"{s.type}{' or None' if s.optional else ''}, default {s.default!r}\n{s.meaning}")
    if method.traits.supervised:
        meaning = "Whether a constant column is added to the rows, whose weight is learned like all others."
        found["fit_intercept"] = (not method.traits.gaps, f"bool, default {not method.traits.gaps}\n{meaning}")
    else:
        found["center"] = (True, "bool, default True\nWhether the running mean is subtracted from the rows.")
        found["whiten"] = (False, "bool, default False\nWhether coordinates are divided by their standard deviation.")
    if method.kernel.models or method.state.layered:
        default = "a network of 32 hidden units" if method.state.layered else "linear"
        found["model"] = (None, f"orfit_bench.Model, optional\nWhat is fitted. Default: {default}.")
    found["backend"] = ("numpy", "str, default 'numpy'\nWhat computes: 'numpy', 'numba' or that of a plugin.")
    found["random_state"] = (0, "int, RandomState or None, default 0\nSeed of the draws.")
    return found


def build(method: Method) -> type[StreamingEstimator]:
    """The estimator class of a method."""
    base, name, given = base_class(method), class_name(method), parameters(method)
    namespace = {
        "__init__": _initializer(given),
        "__doc__": _docstring(method, base, given),
        "__module__": "orfit_bench.sklearn",
        "__qualname__": name,
        "method": method,
    }
    return new_class(name, (base,), exec_body=lambda body: body.update(namespace))


def _initializer(given: Parameters) -> Callable[..., None]:
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    shown = [inspect.Parameter(name, keyword, default=default) for name, (default, _) in given.items()]
    signature = inspect.Signature([own, *shown])

    def __init__(self: Any, **values: Any) -> None:
        bound = signature.bind(self, **values)
        bound.apply_defaults()
        for name in given:
            setattr(self, name, bound.arguments[name])

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


ATTRIBUTES: dict[type, str] = {
    StreamingRegressor: "coef_ : ndarray, shape (d,) or (outputs, d)\n    Weights of the features, on a linear model.\n"
    "intercept_ : float or ndarray, shape (outputs,)\n    Weight of the constant, on a linear model.",
    StreamingClassifier: "classes_ : ndarray\n    The labels, sorted.\n"
    "coef_ : ndarray, shape (d,) or (classes, d)\n    Weights of the features.\n"
    "intercept_ : float or ndarray, shape (classes,)\n    Weights of the constant.",
    StreamingTransformer: "components_ : ndarray, shape (k, d)\n    Directions of largest variance, in order.\n"
    "explained_variance_ : ndarray, shape (k,)\n    Variance along each of them.\n"
    "mean_ : ndarray, shape (d,)\n    Mean of the rows.",
}
ATTRIBUTES[WeightedRegressor] = ATTRIBUTES[StreamingRegressor]


def _docstring(method: Method, base: type, given: Parameters) -> str:
    lines = []
    for name, (_, text) in given.items():
        head, _, meaning = text.partition("\n")
        lines.append(f"{name} : {head}\n    {meaning}")
    common = "learner_ : learner\n    What computes; see `orfit_bench.create`."
    summary = method.summary[:1].upper() + method.summary[1:]
    parts = [f"{summary}.", method.use_when, _section("Parameters", "\n".join(lines))]
    parts += [_section("Attributes", f"{ATTRIBUTES[base]}\n{common}"), _section("Notes", f"Source: {method.source}.")]
    return "\n\n".join(part for part in parts if part)


def _section(title: str, text: str) -> str:
    return f"{title}\n{'-' * len(title)}\n{text}"


class Estimators(Mapping[str, type[StreamingEstimator]]):
    """The estimator classes by method, those of plugins included; made when first asked for."""

    def __init__(self) -> None:
        """No class yet."""
        self._built: dict[str, type[StreamingEstimator]] = {}

    def __getitem__(self, name: str) -> type[StreamingEstimator]:
        """The class of a method."""
        method = registry().methods[name]
        found = self._built.get(name)
        if found is None or found.method is not method:
            found = self._built[name] = build(method)
        return found

    def __iter__(self) -> Iterator[str]:
        """The names of the methods."""
        return iter(registry().methods)

    def __len__(self) -> int:
        """The number of methods."""
        return len(registry().methods)

    def by_class_name(self, name: str) -> type[StreamingEstimator]:
        """The class of this name; AttributeError where no method has one."""
        for method in registry().methods.values():
            if class_name(method) == name:
                return self[method.name]
        raise AttributeError(f"module 'orfit_bench.sklearn' has no attribute {name!r}")
