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
from orfit_bench.spec.model import as_transition
from orfit_bench.spec.setting import Setting, check_settings
from orfit_bench.spec.types import Integer
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
RANDOM_STATE = Setting("random_state", Integer(0, 2**64 - 1), 0, "the seed of all random draws")


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
    """Create a learner of a method.

    Parameters
    ----------
    method : str
        Name of the method; `orfit_bench.methods()` and `orfit-bench list` show them, with when to use each.
    backend : str, default "numpy"
        Name of the backend that computes it: "numpy", "numba", "cupy" or a plugin's.
    dtype : {"float64", "float32"}, default "float64"
        Of the state, and of the rows that kernels get.
    random_state : int, default 0
        Seed of all random draws.
    model : Model, default linear
        What a regression method fits, for example `orfit_bench.MLP((32,))`.
    initial_weights : array_like, shape (p,) or (p, c), optional
        Weights before the first row. Default: zeros, or what the model draws.
    **settings
        Settings of the method, by name; `orfit-bench list METHOD` explains them.

    Returns
    -------
    Regressor, Classifier, Filter or Subspace
        As the method's kind says.

    Raises
    ------
    ValueError
        If a name is unknown, or a setting is out of its range.
    TypeError
        If the method has no such setting, or it is of the wrong type.
    UnavailableError
        If the backend cannot compute here, with the reason and the command that would help.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> ob.create("lms", backend="numpy", step_size=0.1)
    <lms, step_size=Constant(value=0.1); numpy, float64, 0 rows seen>
    """
    found = registry().methods.find(method)
    chosen = registry().backends.find(backend)
    values = check_settings(found.name, found.settings, settings)
    fitted = _model(model, found)
    kernel = registry().kernel(backend, method)
    if _dtype(dtype) == "float32":
        require("float32", kernel, found, chosen)
    if fitted is not LINEAR:
        require("models", kernel, found, chosen)
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
    if method.state.layered and not (model.layers and model.shapes):
        raise ValueError(
            f"{method.name} learns layer by layer, which the model {model.name!r} does not tell apart: "
            f"pass model=orfit_bench.MLP(...), or a Model with shapes and layers"
        )
    if model is not LINEAR and not (method.kernel.models or method.state.layered):
        raise ValueError(f"{method.name} fits no other model than the linear one; these do: {_that_fit(model)}")
    return model


def _weights(given: Any, method: Method, dtype: np.dtype[Any]) -> np.ndarray[Any, Any] | None:
    if given is None:
        return None
    if method.traits.labels:
        raise ValueError(f"initial_weights: {method.name} gives every new class zero weights; leave it out")
    if "w" not in method.state.names:
        instead = [f"pass {s.name}= instead" for s in method.settings if s.name in ("initial_mean", "initial_basis")]
        raise ValueError(f"initial_weights: {method.name} has none; {instead[0] if instead else 'leave it out'}")
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
    methods = registry().methods.values()
    return ", ".join(sorted(m.name for m in methods if m.kernel.models or (m.state.layered and layered)))


def restore(
    state: xarray.Dataset,
    *,
    backend: str | None = None,
    model: Model | None = None,
    transition: Transition | tuple[Any, Any] | None = None,
) -> Any:
    """Continue exactly where a state was taken, on the same backend or another.

    Parameters
    ----------
    state : xarray.Dataset
        What `learner.state()` returned.
    backend : str, optional
        Backend to continue on. Default: that of the state.
    model : Model, optional
        The model, where it is not the linear one: a state holds no functions.
    transition : Transition or pair of functions, optional
        The nonlinear transition of a filter that has one.

    Returns
    -------
    Regressor, Classifier, Filter or Subspace
        A learner in this state.

    Raises
    ------
    ValueError
        If the state is incomplete, or belongs to another model or transition.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> learner = ob.create("lms", backend="numpy").partial_fit([[1.0]], [2.0])
    >>> ob.restore(learner.state()).n_samples_seen_
    1
    """
    return _rebuilt(*serialization.from_dataset(state), "state", backend, model, transition)


def load(
    path: Any,
    *,
    backend: str | None = None,
    model: Model | None = None,
    transition: Transition | tuple[Any, Any] | None = None,
) -> Any:
    """Continue where `save(path)` was called.

    Parameters
    ----------
    path : str or path-like
        The file that `save` wrote.
    backend, model, transition
        As in `restore`.

    Returns
    -------
    Regressor, Classifier, Filter or Subspace
        A learner in the saved state.

    Raises
    ------
    ValueError
        If the file is damaged or no state; the message names it.
    FileNotFoundError
        If there is no such file.
    """
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
    start, transition = len(serialization.SETTING), as_transition(transition)
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
