"""A state as an xarray Dataset, and back."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from orfit_bench.state.header import header
from orfit_bench.state.serialization import INITIAL_WEIGHTS, PENDING_X, PENDING_Y, SETTING, HostArray, arrays
from orfit_bench.state.state import LearnerState, StateRule

if TYPE_CHECKING:
    import xarray


DIMENSIONS = "dimensions"
"""The attribute with the names of the dimensions of each array."""


class ColumnNames(Protocol):
    """The names of columns in the state of a learner or a fleet."""

    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]


def to_dataset(rule: StateRule, state: LearnerState | None) -> xarray.Dataset:
    """The state with named dimensions; the second occurrence of a name in one array gets a number."""
    import xarray

    given, head = arrays(rule, state), header(rule, state)
    dims: dict[str, tuple[str, ...]] = {
        INITIAL_WEIGHTS: ("parameter", "output"),
        PENDING_X: ("waiting", "feature"),
        PENDING_Y: ("waiting", "target"),
    }
    dims |= {n: (f"{n}_row", f"{n}_column") for n in given if n.startswith(SETTING)}
    fields = () if state is None else rule.layout(state.sizes).fields
    if state and rule.method.state.solution:
        given[rule.method.state.weights] = rule.backend.asnumpy(rule.solved_weights(state))
        dims[rule.method.state.weights] = ("parameter", "output")
    dims |= {f.name: f.dims for f in fields}
    meaning = {f.name: f.meaning for f in fields}
    variables = {
        name: (distinct(dims[name][: a.ndim]), a, {"long_name": meaning.get(name, "")} if name in meaning else {})
        for name, a in given.items()
    }
    coordinates = {name: (name, list(names)) for name, names in named_dimensions(rule, state, variables).items()}
    attrs = {"orfit_bench": json.dumps(head), DIMENSIONS: describe_dimensions(variables)}
    return xarray.Dataset(variables, coordinates, attrs=attrs | _plain(head))


def describe_dimensions(variables: dict[str, Any]) -> str:
    """The names of the dimensions of each array, as JSON."""
    return json.dumps({name: list(dims) for name, (dims, *_) in variables.items()})


def named_dimensions(rule: StateRule, state: ColumnNames | None, variables: Any) -> dict[str, tuple[str, ...]]:
    """The names of the entries along the dimensions of features and outputs, if they are known."""
    if state is None:
        return {}
    names = {"feature": state.feature_names, "output": state.target_names, "target": state.target_names}
    if rule.is_linear:
        names["parameter"] = state.feature_names
    sizes = {dim: n for dims, a, _ in variables.values() for dim, n in zip(dims, a.shape, strict=True)}
    found = {dim: names.get(re.sub(r"_\d+$", "", dim), ()) for dim in sorted(sizes)}
    # a model has one column of weights, whatever the number of outputs
    return {dim: given for dim, given in found.items() if given and len(given) == sizes[dim]}


def _plain(head: dict[str, Any]) -> dict[str, Any]:
    """The entries of the header as attributes of types that netCDF supports."""
    return {k: json.dumps(v) if isinstance(v, (dict, list, bool)) else v for k, v in head.items() if v is not None}


def distinct(dims: tuple[str, ...]) -> tuple[str, ...]:
    """The dimensions, with a number appended to the second occurrence of a name."""
    return tuple(d if d not in dims[:i] else f"{d}_{i + 1}" for i, d in enumerate(dims))


def from_dataset(state: xarray.Dataset) -> tuple[dict[str, Any], dict[str, HostArray]]:
    """Header and arrays of the result of `state()`."""
    if "orfit_bench" not in getattr(state, "attrs", {}):
        raise ValueError(f"this {type(state).__name__} is no learner's state: its attrs have no 'orfit_bench'")
    head = attribute(state, "orfit_bench")
    if not isinstance(head, dict):
        raise ValueError(f"state: the attribute 'orfit_bench' was changed or damaged: got {head!r}, want a mapping")
    for dim, key in (("feature", "feature_names"), ("parameter", "feature_names"), ("output", "target_names")):
        if dim in state.coords and (found := state.coords[dim].values.tolist()) != head.get(key):
            raise ValueError(f"state: the coordinate {dim!r} is {found}, want {head.get(key)} in the order of {key}")
    return head, _in_saved_order(state)


def _in_saved_order(state: xarray.Dataset) -> dict[str, HostArray]:
    """The arrays with their dimensions in the order of `state()`; arrays with other dimensions are read by position."""
    saved = attribute(state, DIMENSIONS) if DIMENSIONS in state.attrs else {}  # earlier versions did not save them
    if not isinstance(saved, dict):
        raise ValueError(f"state: the attribute {DIMENSIONS!r} was changed or damaged: got {saved!r}, want a mapping")
    of_rule = [name for name in saved if name == INITIAL_WEIGHTS or name.startswith(SETTING)]
    if missing := sorted(set(of_rule).difference(map(str, state.data_vars))):
        raise ValueError(f"state: the array {missing[0]!r} is missing")
    found = {}
    for name, v in state.data_vars.items():
        dims: Any = saved.get(str(name))
        is_same = isinstance(dims, list) and sorted(map(str, v.dims)) == sorted(map(str, dims))
        found[str(name)] = np.array((v.transpose(*map(str, dims)) if is_same else v).values)
    return found


def attribute(state: xarray.Dataset, name: str) -> Any:
    """The value of an attribute that is written as JSON."""
    try:
        return json.loads(state.attrs[name])
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"state: the attribute {name!r} was changed or damaged: it is no JSON ({error})") from error
