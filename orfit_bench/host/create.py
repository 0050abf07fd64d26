"""Making learners: by name, and from a state."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.host import inputs, snapshot
from orfit_bench.host.learner import Learner
from orfit_bench.host.registry import registry
from orfit_bench.spec import LINEAR, Method, Model
from orfit_bench.spec.setting import Setting, checked

if TYPE_CHECKING:
    from collections.abc import Iterable

    import xarray

DTYPES = ("float64", "float32")
RANDOM_STATE = Setting("random_state", "integer", 0, "[0, 18446744073709551616)", "the seed of all random draws")


def create(
    method: str,
    *,
    backend: str = "numpy",
    dtype: Any = "float64",
    random_state: int = 0,
    model: Model = LINEAR,
    initial_weights: Any = None,
    **settings: Any,
) -> Learner:
    """A new learner of a method, by name, on a backend, with the method's settings.

    ValueError for an unknown name or a setting out of range, TypeError for an unknown setting or one of a wrong
    kind, UnavailableError with the reason and the remedy where the backend cannot compute here.
    """
    found: Method = registry().find("methods", method)
    chosen = registry().find("backends", backend)
    values = checked(found.name, found.settings, settings)
    if not isinstance(model, Model):
        raise TypeError(
            f"model: got {type(model).__name__}, want orfit_bench.Model(name, predict, jacobian, parameters)"
        )
    if model is not LINEAR and model.name == LINEAR.name:
        raise ValueError(f"a model of one's own needs another name than {LINEAR.name!r}, by which states know it")
    if model is not LINEAR and not found.models:
        raise ValueError(f"{method} fits no other model than the linear one; these do: {_with_models()}")
    return Learner(
        found,
        values,
        chosen,
        registry().kernel(backend, method),
        _dtype(dtype),
        RANDOM_STATE.check(random_state),
        model,
        _weights(initial_weights, found, np.dtype(_dtype(dtype))),
    )


def _weights(given: Any, method: Method, dtype: np.dtype[Any]) -> np.ndarray[Any, Any] | None:
    if given is None:
        return None
    if all(f.name != "w" for f in method.fields):
        raise ValueError(f"initial_weights: {method.name} has no weights; leave it out")
    weights = inputs.numbers(given, "initial_weights", dtype)
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


def _with_models() -> str:
    return ", ".join(sorted(m.name for m in registry().methods.values() if m.models))


def restore(state: xarray.Dataset, *, backend: str | None = None, model: Model | None = None) -> Learner:
    """A learner that continues exactly where `state` was taken, on the same backend or another.

    A state of a nonlinear model needs that model again. ValueError where the state is no whole one.
    """
    return _rebuilt(*snapshot.from_dataset(state), "state", backend, model)


def load(path: Any, *, backend: str | None = None, model: Model | None = None) -> Learner:
    """A learner that continues where `save(path)` was called; ValueError where the file is damaged."""
    return _rebuilt(*snapshot.read(path), str(path), backend, model)


def _rebuilt(head: Any, arrays: dict[str, Any], where: str, backend: str | None, model: Model | None) -> Learner:
    snapshot.check_header(head, where)
    model = model or LINEAR
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
            **head["settings"],
        )
        return snapshot.rebuild(blank, head, arrays)
    except KeyError as error:
        raise ValueError(f"{where}: the header lacks {error}, which format {snapshot.FORMAT} has") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{where}: {error}") from error


def average(learners: Iterable[Learner]) -> None:
    """Give all learners the mean of their weights, for rounds of learning apart (Krasulina paper, eq. 18).

    Each keeps its own step count. ValueError where they differ in method, settings, dtype or sizes, where rows
    wait, or where the method declares no average.
    """
    learners = list(learners)
    if not learners:
        raise ValueError("average: got no learners")
    first = learners[0]
    if not first.method.averages:
        raise ValueError(f"{first.method.name}: an average of its states is not defined")
    for other in learners:
        if json.dumps(snapshot.config(other.settings)) != json.dumps(snapshot.config(first.settings)):
            raise ValueError(f"average: settings differ: {dict(other.settings)} and {dict(first.settings)}")
        other._check_usable()
        for what in ("method", "model", "dtype", "backend", "_features", "_outputs"):
            if getattr(other, what) != getattr(first, what):
                raise ValueError(f"average: the learners differ in {what.strip('_')}")
        if other.pending:
            raise ValueError("average: rows wait in one of the learners: call flush() first")
    if first._features is None:
        return
    for name in first.method.averages:
        mean = sum(getattr(a._s, name) for a in learners) / len(learners)
        for other in learners:
            getattr(other._s, name)[...] = mean
