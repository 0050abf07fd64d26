"""Validation of the arguments of `create` that are not settings of the method."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from orfit_bench.learners import validation
from orfit_bench.models import model_named
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import LINEAR, Method, Model
from orfit_bench.spec.setting import describe_value
from orfit_bench.spec.state import Settings
from orfit_bench.tables.names import labels_of, quoted

REAL_DTYPES = ("float64", "float32")
DTYPES = (*REAL_DTYPES, "complex128", "complex64")


def is_complex(dtype: str) -> bool:
    """Whether a dtype of this name has complex numbers."""
    return dtype.startswith("complex")


def as_model(model: object) -> Model:
    """The model, or the linear model if given by its name; TypeError if it is not a model."""
    model = LINEAR if isinstance(model, str) and model == LINEAR.name else model
    if not isinstance(model, Model):
        raise TypeError(
            f"model: got {type(model).__name__}, want orfit_bench.MLP(...) or "
            f"orfit_bench.Model(name, predict, jacobian, parameters)"
        )
    return model


def model_for(given: object, method: Method) -> Model:
    """The model that a method will fit; ValueError if it cannot."""
    model = as_model(given)
    if model is not LINEAR and model.name == LINEAR.name:
        raise ValueError(f"model: the name {LINEAR.name!r} is that of the linear model, want another name")
    if method.state.layered and not (model.layers and model.shapes):
        raise ValueError(
            f"{method.name} learns layer by layer, but the model {model.name!r} does not define its layers: "
            f"pass model=orfit_bench.MLP(...), or a Model with shapes and layers"
        )
    if model_named(model.name) not in (None, model):
        raise ValueError(f"model: the name {model.name!r} is that of an orfit_bench.MLP(...), want another name")
    if model is not LINEAR and not (method.kernel.models or method.state.layered):
        raise ValueError(f"{method.name} fits no other model than the linear one; these do: {methods_that_fit(model)}")
    return model


def initial_weights_for(given: ArrayLike | None, method: Method, dtype: np.dtype[Any]) -> np.ndarray[Any, Any] | None:
    """A copy of the initial weights in host memory; ValueError if the method or the shape does not allow them."""
    if given is None:
        return None
    if method.traits.labels:
        raise ValueError(f"initial_weights: {method.name} gives every new class zero weights; leave it out")
    if "w" not in method.state.names and not method.state.solution:
        instead = [f"pass {s.name}= instead" for s in method.settings if s.name in ("initial_mean", "initial_basis")]
        raise ValueError(f"initial_weights: {method.name} has none; {instead[0] if instead else 'leave it out'}")
    if names := labels_of(given):
        raise ValueError(
            f"initial_weights: got weights with the names {quoted(names)}, but the columns of the rows are not known "
            f"yet: pass initial_weights.to_numpy(), in the order of the columns"
        )
    weights = validation.numbers(given, "initial_weights", dtype)
    if weights.ndim not in (1, 2):
        raise ValueError(f"initial_weights: got shape {weights.shape}, want (parameters,) or (parameters, outputs)")
    return weights.copy()


def dtype_name(dtype: DTypeLike) -> str:
    """The name of a dtype of learners; ValueError for any other dtype."""
    try:
        name = "None" if dtype is None else str(np.dtype(dtype).name)  # NumPy's None is float64
    except TypeError:
        name = str(dtype)
    if name not in DTYPES:
        raise ValueError(f"dtype={dtype!r}: want one of {', '.join(DTYPES)}")
    return name


def require_complex_form(method: Method, settings: Settings, model: Model) -> None:
    """Raise TypeError if a method, or what it does on a model, is defined for real numbers only."""
    if method.kernel.has_complex_form is None:
        known = sorted(m.name for m in registry().methods.values() if m.kernel.has_complex_form)
        raise TypeError(f"{method.name} has no complex form; these methods have one: {', '.join(known)}")
    if not method.kernel.has_complex_form(settings):
        chosen = ", ".join(f"{name}={describe_value(value)}" for name, value in settings.items())
        raise TypeError(f"{method.name} has no complex form with these settings: {chosen}")
    if model is not LINEAR:
        raise TypeError(f"{method.name} on the model {model.name!r} has no complex form; only the linear model has one")


def methods_that_fit(model: Model) -> str:
    """The methods that learn such a model."""
    layered = bool(model.layers and model.shapes)
    methods = registry().methods.values()
    return ", ".join(sorted(m.name for m in methods if m.kernel.models or (m.state.layered and layered)))
