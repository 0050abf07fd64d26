"""The state of a fleet as an xarray Dataset, as a file and as bytes, and back."""

from __future__ import annotations

import json
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.learners.fleets.members import Members
from orfit_bench.learners.fleets.state import UNKNOWN, FleetState, placed
from orfit_bench.state import binary, dataset, files, serialization
from orfit_bench.state import header as headers

if TYPE_CHECKING:
    import xarray

KEY = "members"
"""The key that marks the header of a fleet; its value is the number of members."""
MOST = 2**62
"""The largest count; later rows must not exceed the integers of 64 bits."""
COUNTS = ("steps", "samples", "has_warned")
HostArray = np.ndarray[Any, Any]


def header(members: Members, state: FleetState | None) -> dict[str, Any]:
    """The part of the state that is not in arrays."""
    head = headers.header(members.shared, None)
    head |= {KEY: members.size, "settings": headers.config(members.shared.settings)}
    head["varying"] = {name: [headers.plain(v) for v in values] for name, values in members.varying.items()}
    if state:
        d, c, vector = state.sizes
        head |= {"n_features": d, "n_outputs": c, "y_is_vector": vector}
        head |= {key: list(names) for key in headers.NAMES if (names := getattr(state, key))}
    if members.shared.method.traits.labels:
        head["classes"] = list(state.classes) if state else []
    return head


def arrays(members: Members, state: FleetState | None) -> dict[str, HostArray]:
    """Copies of all arrays: the fields, with growing ones cut to the longest member, and the counts."""
    rule = members.shared
    found = {} if rule.initial_weights is None else {"initial_weights": np.array(rule.initial_weights)}
    if state is None:
        return found
    layout = rule.layout(state.sizes)
    used = int(state.arrays.count.max(initial=0)) if layout.grows else 0
    for f in layout.fields:
        a = getattr(state.arrays, f.name)
        part = a[:, :used, ...] if layout.grows in f.dims else a
        found[f.name] = rule.backend.asnumpy(part) if f.dims else part.copy()
    if layout.grows:
        found["count"] = state.arrays.count.copy()
    counts = (state.n_steps, state.n_samples, state.has_warned.astype(np.int64))
    return found | dict(zip(COUNTS, counts, strict=True)) | {"class_order": state.order.astype(np.int64)}


def save(members: Members, state: FleetState | None, path: str | PathLike[str]) -> None:
    """Write an .npz file, which holds the old content or the complete new one at every moment."""
    files.write(header(members, state), arrays(members, state), path)


def to_bytes(members: Members, state: FleetState | None) -> bytes:
    """Header and arrays as bytes with a checksum."""
    return binary.pack(b"{}", header(members, state), arrays(members, state))


def to_dataset(members: Members, state: FleetState | None) -> xarray.Dataset:
    """The state with named dimensions, the first of which is "member"."""
    import xarray

    head = header(members, state)
    fields = members.shared.layout(state.sizes).fields if state else ()
    dims = {f.name: ("member", *f.dims) for f in fields} | dict.fromkeys(COUNTS, ("member",))
    dims |= {"count": ("member", "one"), "class_order": ("member", "class"), "initial_weights": ("parameter", "output")}
    found = arrays(members, state)
    variables: Any = {name: (dataset.distinct(dims[name][: a.ndim]), a, {}) for name, a in found.items()}
    named = dataset.named_dimensions(members.shared, state, variables)
    coordinates = {dim: (dim, list(names)) for dim, names in named.items()}
    described = {dataset.DIMENSIONS: dataset.describe_dimensions(variables), KEY: members.size}
    attrs = {"orfit_bench": json.dumps(head), **described}
    return xarray.Dataset(variables, coordinates, attrs=attrs)


def state_from_header(members: Members, head: dict[str, Any], given: dict[str, HostArray]) -> FleetState | None:
    """The state described; None before the first chunk. ValueError if it does not fit the settings."""
    if head["n_features"] is None:
        serialization.refuse_arrays_of_rows(given)
        return None
    rule, N = members.shared, members.size
    sizes = serialization.read_sizes(head)
    classes = headers.class_labels(head) if rule.method.traits.labels else ()
    steps, samples, warned = (
        _counts(name, given, (N,), most=most) for name, most in zip(COUNTS, (MOST, MOST, 1), strict=True)
    )
    order = _counts("class_order", given, (N, len(classes)), least=UNKNOWN, most=len(classes) - 1)
    _check_orders(order)
    layout, record = rule.layout(sizes), {}
    count = _counts("count", given, (N, 1)) if layout.grows else np.zeros((N, 1), np.int64)
    room = int(count.max(initial=0))
    if layout.limit is not None and room > layout.limit:
        raise ValueError(f"state: {room} entries along {layout.grows!r}, the settings allow {layout.limit}")
    known = [*(f.name for f in layout.fields), *COUNTS, "count", "class_order", serialization.INITIAL_WEIGHTS]
    if unknown := sorted(set(given) - set(known)):
        raise ValueError(f"state: the array {unknown[0]!r} is unknown")
    shapes = {f.name: (N, *layout.shape(f.dims, room)) for f in layout.fields}
    later = {name: np.zeros(shapes[name], rule.dtype) for name in serialization.later_fields(rule, layout)}
    for name, shape in shapes.items():
        record[name] = serialization.checked(name, later | given, shape, rule.dtype).copy()
    serialization.check_marks(rule, record)
    if layout.grows:
        record["count"] = count
    like = type(rule.init(sizes).arrays)
    arrays_there = placed(members, sizes, like(**record))
    state = FleetState(sizes, arrays_there, steps, samples, warned.astype(bool), classes, order)
    state.feature_names = headers.column_names(head, "feature_names", sizes.n_features)
    state.target_names = headers.column_names(head, "target_names", sizes.n_outputs)
    return state


def _check_orders(order: HostArray) -> None:
    """Raise ValueError if a member has a class twice in its order of classes."""
    for i, places in enumerate(order.tolist()):
        known = [place for place in places if place != UNKNOWN]
        if len(set(known)) != len(known):
            raise ValueError(f"state: 'class_order' of member {i} is {places}, want each class once")


def _counts(
    name: str, given: dict[str, HostArray], shape: tuple[int, ...], least: int = 0, most: int = MOST
) -> HostArray:
    """An array of integers of this name; ValueError if it does not fit."""
    a = given.get(name)
    if a is None or a.shape != shape or a.dtype.kind != "i" or (a.size and not (least <= a.min() and a.max() <= most)):
        got = "is missing" if a is None else f"has shape {a.shape} and dtype {a.dtype}"
        raise ValueError(f"state: {name!r} {got}, want {shape} of integers from {least} to {most}")
    return np.array(a, np.int64)
