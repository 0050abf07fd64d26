"""The model of a cell as plain values: {} is the linear model, {"hidden": [32], ...} a multilayer perceptron."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orfit_bench.errors import suggest
from orfit_bench.models import MLP
from orfit_bench.spec import LINEAR, Method, Model

DEFAULTS: dict[str, Any] = {"hidden": [32], "activation": "tanh", "bias": True}


def with_defaults(method: Method, given: Any) -> dict[str, Any]:
    """Check the description of a model and add its defaults.

    If `given` is None, the model is linear; for a layered method it has one hidden layer of 32 units. Raises TypeError
    or ValueError if the description is wrong or the method cannot learn this model.
    """
    if given is None and not method.state.layered:
        return {}
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"{method.name}: model={given!r}: want a table of {', '.join(DEFAULTS)}")
    if not (method.kernel.models or method.state.layered):
        raise ValueError(f"{method.name}: model={given!r}: this method learns linear models only")
    for name in given or {}:
        if name not in DEFAULTS:
            raise ValueError(f"{method.name}: a model has no {name!r}{suggest(name, DEFAULTS)}")
    described = {**DEFAULTS, **(given or {})}
    build(described)
    return described


def build(described: Mapping[str, Any]) -> Model:
    """Return the model. Raises TypeError or ValueError if the description is wrong."""
    return MLP(**described) if described else LINEAR
