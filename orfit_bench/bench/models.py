"""The model of a cell, in plain values: {} is the linear one, {"hidden": [32], ...} a multilayer perceptron."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orfit_bench.errors import hint
from orfit_bench.models import MLP
from orfit_bench.spec import LINEAR, Method, Model

DEFAULTS: dict[str, Any] = {"hidden": [32], "activation": "tanh", "bias": True}


def filled(method: Method, given: Any) -> dict[str, Any]:
    """All that describes the model which a method of a suite learns; given is None where the suite says nothing.

    A method that learns layer by layer gets one hidden layer of 32, any other the linear model. TypeError or
    ValueError where the method learns no such model, or there is none such.
    """
    if given is None and not method.state.layered:
        return {}
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"{method.name}: model={given!r}: want a table of {', '.join(DEFAULTS)}")
    if not (method.kernel.models or method.state.layered):
        raise ValueError(f"{method.name}: model={given!r}: it fits no other model than the linear one")
    for name in given or {}:
        if name not in DEFAULTS:
            raise ValueError(f"{method.name}: a model has no {name!r}{hint(name, DEFAULTS)}")
    described = {**DEFAULTS, **(given or {})}
    made(described)
    return described


def made(described: Mapping[str, Any]) -> Model:
    """The model. TypeError or ValueError where what describes it is wrong."""
    return MLP(**described) if described else LINEAR
