"""Making learners: by name, and from a state."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.learners import validation
from orfit_bench.learners.classifier import Classifier
from orfit_bench.learners.filtering.filter import Filter
from orfit_bench.learners.filtering.rule import FilterRule
from orfit_bench.learners.learner import Learner
from orfit_bench.learners.regressor import Regressor
from orfit_bench.learners.rule import Rule
from orfit_bench.learners.subspace import Subspace
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import LINEAR, Method, Model, Transition
from orfit_bench.spec.capability import require
from orfit_bench.spec.model import named
from orfit_bench.spec.setting import Setting, checked
from orfit_bench.state import serialization
from orfit_bench.state.state import LearnerState

if TYPE_CHECKING:
    import xarray

DTYPES = ("float64", "float32")
LEARNERS: dict[str, tuple[type[Learner], type[Rule]]] = {
    "regression": (Regressor, Rule),
    "classification": (Classifier, Rule),
    "filter": (Filter, FilterRule),
    "subspace": (Subspace, Rule),
}
"""What a learner of each kind of method offers, and how it learns."""
RANDOM_STATE = Setting("random_state", "integer", 0, "[0, 18446744073709551616)", "the seed of all random draws")


def create(
    method: str,
    *,
    backend: str = "numpy",
    dtype: Any = "float64",
    random_state: int = 0,
    model: Model | str = LINEAR,
    initial_weights: Any = None,
    **settings: Any,
) -> Any:
    """A new learner of a method, by name, on a backend, with the method's settings.

    It is a Regressor, a Classifier, a Filter or a Subspace, as the method's kind says.

    ValueError for an unknown name or a setting out of range, TypeError for an unknown setting or one of a wrong
    kind, UnavailableError with the reason and the remedy where the backend cannot compute here.
    """
    found: Method = registry().find("methods", method)
    chosen = registry().find("backends", backend)
    values = checked(found.name, found.settings, settings)
    fitted = _model(model, found)
    kernel = registry().kernel(backend, method)
    for name, wanted in (("float32", _dtype(dtype) == "float32"), ("models", fitted is not LINEAR)):
        if wanted:
            require(name, kernel, found, chosen)
    _, rule = LEARNERS[found.kind]
    return learner_of(
        rule(
            method=found,
            settings=MappingProxyType(values),
            backend=chosen,
            kernel=kernel,
            dtype=np.dtype(_dtype(dtype)),
            random_state=RANDOM_STATE.check(random_state),
            model=fitted,
            initial_weights=_weights(initial_weights, found, np.dtype(_dtype(dtype))),
        )
    )


def learner_of(rule: Rule, state: LearnerState | None = None) -> Any:
    """A learner that follows this rule, from this state on; None is before the first chunk."""
    learner, _ = LEARNERS[rule.method.kind]
    return learner(rule, state)


def _as_model(model: Any) -> Model:
    model = LINEAR if isinstance(model, str) and model == LINEAR.name else model
    if not isinstance(model, Model):
        raise TypeError(
            f"model: got {type(model).__name__}, want orfit_bench.MLP(...) or "
            f"orfit_bench.Model(name, predict, jacobian, parameters)"
        )
    return model


def _model(given: Any, method: Method) -> Model:
    model = _as_model(given)
    if model is not LINEAR and model.name == LINEAR.name:
        raise ValueError(f"a model of one's own needs another name than {LINEAR.name!r}, by which states know it")
    if method.layered and not (model.layers and model.shapes):
        raise ValueError(
            f"{method.name} learns layer by layer, which the model {model.name!r} does not tell apart: "
            f"pass model=orfit_bench.MLP(...), or a Model with shapes and layers"
        )
    if model is not LINEAR and not (method.models or method.layered):
        raise ValueError(f"{method.name} fits no other model than the linear one; these do: {_that_fit(model)}")
    return model


def _weights(given: Any, method: Method, dtype: np.dtype[Any]) -> np.ndarray[Any, Any] | None:
    if given is None:
        return None
    if method.traits.labels:
        raise ValueError(f"initial_weights: {method.name} gives every new class zero weights; leave it out")
    if all(f.name != "w" for f in method.fields):
        named = [f"pass {s.name}= instead" for s in method.settings if s.name in ("initial_mean", "initial_basis")]
        raise ValueError(f"initial_weights: {method.name} has none; {named[0] if named else 'leave it out'}")
    weights = validation.numbers(given, "initial_weights", dtype)
    if weights.ndim not in (1, 2):
        raise ValueError(f"initial_weights: got shape {weights.shape}, want (parameters,) or (parameters, outputs)")
    return weights.copy()


def _dtype(dtype: Any) -> str:
    try:
        name = "None" if dtype is None else str(np.dtype(dtype).name)  # NumPy's None is float64
    except TypeError:
        name = str(dtype)
    if name not in DTYPES:
        raise ValueError(f"dtype={dtype!r}: want one of {', '.join(DTYPES)}")
    return name


def _that_fit(model: Model) -> str:
    """The methods that learn such a model."""
    layered = bool(model.layers and model.shapes)
    return ", ".join(sorted(m.name for m in registry().methods.values() if m.models or (m.layered and layered)))


def restore(
    state: xarray.Dataset,
    *,
    backend: str | None = None,
    model: Model | None = None,
    transition: Transition | tuple[Any, Any] | None = None,
) -> Any:
    """A learner that continues exactly where `state` was taken, on the same backend or another.

    A state of a nonlinear model or transition needs these again: a Model, and a Transition or its pair of functions.
    ValueError where the state is no whole one.
    """
    return _rebuilt(*serialization.from_dataset(state), "state", backend, model, transition)


def load(
    path: Any,
    *,
    backend: str | None = None,
    model: Model | None = None,
    transition: Transition | tuple[Any, Any] | None = None,
) -> Any:
    """A learner that continues where `save(path)` was called; ValueError where the file is damaged."""
    return _rebuilt(*serialization.read(path), str(path), backend, model, transition)


def _rebuilt(
    head: Any,
    arrays: dict[str, Any],
    where: str,
    backend: str | None,
    model: Any,
    transition: Any,
) -> Any:
    serialization.check_header(head, where)
    model = _as_model(LINEAR if model is None else model)
    if model.name != (wanted := head.get("model")):
        raise ValueError(f"{where}: the state belongs to the model {wanted!r}, got {model.name!r}: pass model=")
    try:
        blank = create(
            head["method"],
            backend=backend or head["backend"],
            dtype=head["dtype"],
            random_state=head["random_state"],
            model=model,
            initial_weights=arrays.get("initial_weights"),
            **_settings(head["settings"], arrays, transition),
        )
        return learner_of(blank.rule, serialization.rebuild(blank.rule, head, arrays))
    except KeyError as error:
        raise ValueError(f"{where}: the header lacks {error}, which format {serialization.FORMAT} has") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{where}: {error}") from error


def _settings(plain: dict[str, Any], arrays: dict[str, Any], transition: Any) -> dict[str, Any]:
    """The settings of a state: plain values, arrays, and a function that the user passes again."""
    start, transition = len(serialization.SETTING), named(transition)
    given = plain | {name[start:]: a for name, a in arrays.items() if name.startswith(serialization.SETTING)}
    saved = given.get("transition")
    got = transition.name if isinstance(transition, Transition) else None if transition is None else "a matrix"
    if isinstance(saved, dict):
        wanted = saved.get("transition")
        if not isinstance(transition, Transition) or got != wanted:
            raise ValueError(f"the transition is the function {wanted!r}, got {got!r}: pass transition=")
        given["transition"] = transition
    elif transition is not None:
        raise ValueError(f"transition: got {got!r}, but the state has its own or none: leave it out")
    return given
