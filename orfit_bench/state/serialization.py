"""The state of a learner outside of it: as an xarray Dataset, as an .npz file, and back. No pickle is read."""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.jobs.files import replace
from orfit_bench.schedules import Schedule
from orfit_bench.spec import SPEC_VERSION, Transition
from orfit_bench.state.state import LearnerState, Sizes, StateRule

if TYPE_CHECKING:
    import xarray

HostArray = np.ndarray[Any, Any]
FORMAT = 3
READ = (1, 2, 3)
"""Formats that this version reads."""
RENAMED = {"digits_lost": "precision_lost"}
"""Fields that have another name since format 1."""
NAMES = ("feature_names", "target_names")
"""The names of columns: attributes of a state, and keys of a header where there are any."""
SETTING = "setting_"
"""Before the name of a setting that is an array, among the arrays of a state."""


def config(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as JSON knows them; a function (a nonlinear transition) by its name."""
    return {name: _plain_setting(value) for name, value in settings.items()}


def _plain_setting(value: object) -> Any:
    if isinstance(value, Schedule):
        return value.config()
    if isinstance(value, Transition):
        return {"transition": value.name}
    return value.tolist() if isinstance(value, np.ndarray) else value


def header(rule: StateRule, state: LearnerState | None) -> dict[str, Any]:
    """Everything of the state that is no array; the state is None before the first chunk."""
    device = rule.backend.described
    return {
        **({"device": device} if device else {}),
        "format": FORMAT,
        "spec_version": list(SPEC_VERSION),
        "method": rule.method.name,
        "settings": {k: v for k, v in config(rule.settings).items() if not isinstance(v, list)},
        "backend": rule.backend.name,
        "dtype": str(rule.dtype),
        "random_state": rule.random_state,
        "model": rule.model.name,
        **counts(rule, state),
    }


def counts(rule: StateRule, state: LearnerState | None) -> dict[str, Any]:
    """What changes in the header while a learner learns."""
    sizes = Sizes(0, 0) if state is None else state.sizes
    head: dict[str, Any] = {
        "t": state.n_steps if state else 0,
        "n_samples_seen": state.n_samples if state else 0,
        "n_features": sizes.n_features if state else None,
        "n_outputs": sizes.n_outputs if state else None,
        "y_is_vector": sizes.y_is_1d,
    }
    if rule.method.traits.labels:
        head["classes"] = list(state.classes) if state else []
    for key in NAMES if state else ():
        if names := getattr(state, key):
            head[key] = list(names)
    return head


def arrays(rule: StateRule, state: LearnerState | None) -> dict[str, HostArray]:
    """Copies of the state's arrays, pending rows included, in host memory."""
    given = {SETTING + n: np.array(v) for n, v in rule.settings.items() if isinstance(v, np.ndarray) and v.ndim}
    if rule.initial_weights is not None:
        given["initial_weights"] = np.array(rule.initial_weights)
    if state is None:
        return given
    pending_X, pending_y = (rule.backend.asnumpy(a) for a in state.pending.concatenate(rule.namespace))
    fields = rule.layout(state.sizes).arrays(state.arrays)
    return {**fields, "pending_X": pending_X, "pending_y": pending_y, **given}


def rebuild(rule: StateRule, head: dict[str, Any], given: Mapping[str, HostArray]) -> LearnerState | None:
    """The state described; None before the first chunk. ValueError where it does not fit the rule."""
    classes = _classes(head) if rule.method.traits.labels else ()
    if head["n_features"] is None:
        return None
    sizes = Sizes(_count(head, "n_features", least=1), _count(head, "n_outputs"), bool(head["y_is_vector"]))
    d, c = sizes[:2]
    if sizes.y_is_1d and c > 1:
        raise ValueError(f"state: y is one-dimensional, but has {c} outputs")
    steps, samples = _count(head, "t"), _count(head, "n_samples_seen")
    layout = rule.layout(sizes)
    if head["format"] == 1:
        given = {RENAMED.get(name, name): array for name, array in given.items()}
    grown = next((f.name for f in layout.fields if layout.grows in f.dims), "") if layout.grows else ""
    count = len(given.get(grown, ()))
    if layout.limit is not None and count > layout.limit:
        raise ValueError(f"state: {count} entries along {layout.grows!r}, the settings allow {layout.limit}")
    fields = {f.name: _checked(f.name, given, layout.shape(f.dims, count), rule.dtype) for f in layout.fields}
    pending = len(given["pending_X"]) if "pending_X" in given else 0
    if pending >= rule.batch_size or pending > samples:
        raise ValueError(f"state: {pending} rows wait, of {samples} seen, for a batch of {rule.batch_size}")
    X = _checked("pending_X", given, (pending, d), rule.dtype)
    Y = _checked("pending_y", given, (pending, c), rule.dtype)
    waiting = rule.no_rows(sizes)
    if pending:
        waiting = waiting.with_rows(rule.backend.asarray(X), rule.backend.asarray(Y))
    warned = bool(rule.method.state.warning and fields.get(rule.method.state.warning[0], False))
    names = _column_names(head, "feature_names", d), _column_names(head, "target_names", c)
    return LearnerState(sizes, layout.place(fields), waiting, steps, samples, classes, *names, has_warned=warned)


def _column_names(head: dict[str, Any], key: str, count: int) -> tuple[str, ...]:
    """The names of columns in a header; none where it has no such key."""
    names = head.get(key)
    if names is None:
        return ()
    valid = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not valid or (names and len(set(names)) != count) or len(names) > count:
        raise ValueError(f"state: {key} is {names!r}, want {count} different names")
    return tuple(names)


def _classes(head: dict[str, Any]) -> tuple[bool | int | str, ...]:
    classes = head["classes"]
    kinds = {type(label) for label in classes} if isinstance(classes, list) else {None}
    if len(kinds) > 1 or not kinds <= {bool, int, str} or len(set(classes)) != len(classes):
        raise ValueError(f"state: classes are {classes!r}, want different labels of one kind")
    if len(classes) != (0 if head["n_features"] is None else head["n_outputs"]):
        raise ValueError(f"state: {len(classes)} classes for {head['n_outputs']} outputs")
    return tuple(classes)


def _count(head: dict[str, Any], key: str, least: int = 0) -> int:
    value = head[key]
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"state: {key} is {value!r}, want an integer >= {least}")
    return int(value)


def _checked(name: str, given: Mapping[str, HostArray], shape: tuple[int, ...], dtype: np.dtype[Any]) -> HostArray:
    """The array of this name, in C order and the byte order of this machine; ValueError where it does not fit."""
    array = given.get(name)
    if array is None:
        raise ValueError(f"state: the array {name!r} is missing")
    if array.shape != shape or array.dtype.newbyteorder("=") != dtype:
        raise ValueError(f"state: {name!r} has shape {array.shape} and dtype {array.dtype}, want {shape} of {dtype}")
    array = np.ascontiguousarray(array, dtype).reshape(shape)
    if not (math.isfinite(np.vdot(array, array)) or np.isfinite(array).all()):  # the first is quick, but may overflow
        raise ValueError(f"state: {name!r} holds numbers that are not finite")
    return array


def to_dataset(rule: StateRule, state: LearnerState | None) -> xarray.Dataset:
    """The state with named dimensions; the second occurrence of a name in one array gets a number."""
    import xarray

    given, head = arrays(rule, state), header(rule, state)
    dims: dict[str, tuple[str, ...]] = {
        "initial_weights": ("parameter", "output"),
        "pending_X": ("waiting", "feature"),
        "pending_y": ("waiting", "target"),
    }
    dims |= {n: (f"{n}_row", f"{n}_column") for n in given if n.startswith(SETTING)}
    fields = () if state is None else rule.layout(state.sizes).fields
    if state and rule.method.state.solution:
        given[rule.method.state.weights] = rule.backend.asnumpy(rule.solved_weights(state))
        dims[rule.method.state.weights] = ("parameter", "output")
    dims |= {f.name: f.dims for f in fields}
    meaning = {f.name: f.meaning for f in fields}
    variables = {
        name: (_distinct(dims[name][: a.ndim]), a, {"long_name": meaning.get(name, "")} if name in meaning else {})
        for name, a in given.items()
    }
    coordinates = {name: (name, list(names)) for name, names in _named_dimensions(rule, state, variables).items()}
    return xarray.Dataset(variables, coordinates, attrs={"orfit_bench": json.dumps(head)} | _plain(head))


def _named_dimensions(rule: StateRule, state: LearnerState | None, variables: Any) -> dict[str, tuple[str, ...]]:
    """The names of the entries along the dimensions of features and outputs, where they are known."""
    if state is None:
        return {}
    names = {"feature": state.feature_names, "output": state.target_names, "target": state.target_names}
    if rule.is_linear:
        names["parameter"] = state.feature_names
    used = {dim for dims, _, _ in variables.values() for dim in dims}
    return {dim: found for dim in sorted(used) if (found := names.get(re.sub(r"_\d+$", "", dim), ()))}


def _plain(head: dict[str, Any]) -> dict[str, Any]:
    """The entries of the header as attributes of types that netCDF supports."""
    return {k: json.dumps(v) if isinstance(v, (dict, list, bool)) else v for k, v in head.items() if v is not None}


def _distinct(dims: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(d if d not in dims[:i] else f"{d}_{i + 1}" for i, d in enumerate(dims))


def save(rule: StateRule, state: LearnerState | None, path: str | PathLike[str]) -> None:
    """Write header and arrays to path, which holds the old file or the complete new one at every moment."""
    head = np.frombuffer(json.dumps(header(rule, state)).encode(), np.uint8)
    given = arrays(rule, state)
    total = np.uint32(checksum(head, given))

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:  # a path would get the ending .npz
            np.savez(file, allow_pickle=False, header=head, checksum=total, **given)

    replace(Path(path), write)


def checksum(head: HostArray, given: Mapping[str, HostArray]) -> int:
    """CRC-32 of the header and of the names, dtypes, shapes and values of all arrays, in alphabetical order."""
    total = zlib.crc32(head.tobytes())
    for name in sorted(given):
        a = given[name]
        total = zlib.crc32(f"{name} {a.dtype.str} {a.shape}".encode(), total)
        total = zlib.crc32(np.ascontiguousarray(a).data if a.size else b"", total)
    return total


def read(path: str | PathLike[str]) -> tuple[dict[str, Any], dict[str, HostArray]]:
    """Header and arrays of a saved file; ValueError naming the file where it is damaged or something else."""
    with open(path, "rb") as raw:  # what the system refuses (no such file, a folder) is no damaged file
        try:
            with np.load(raw, allow_pickle=False) as file:
                given = {name: file[name] for name in file.files}
            written, encoded = given.pop("checksum", None), given.pop("header")
            head = json.loads(encoded.tobytes())
        except Exception as error:  # a flipped bit raises anything: struct.error, NotImplementedError, MemoryError, ...
            pickled = "it is no .npz file, or holds pickled objects, which are never read"
            reason = pickled if "pickle" in str(error) else f"{type(error).__name__}: {error}"
            raise ValueError(f"{path}: not a complete state saved by orfit_bench ({reason})") from error
    check_header(head, str(path))
    if head["format"] > 2 and (written is None or written != checksum(encoded, given)):
        raise ValueError(f"{path}: the checksum of the content does not fit: the file is damaged or was changed")
    return head, given


def from_dataset(state: xarray.Dataset) -> tuple[dict[str, Any], dict[str, HostArray]]:
    """Header and arrays of what `state()` returned."""
    if "orfit_bench" not in getattr(state, "attrs", {}):
        raise ValueError(f"this {type(state).__name__} is no learner's state: its attrs have no 'orfit_bench'")
    head = json.loads(state.attrs["orfit_bench"])
    for dim, key in (("feature", "feature_names"), ("parameter", "feature_names"), ("output", "target_names")):
        if dim in state.coords and (found := state.coords[dim].values.tolist()) != head.get(key):
            raise ValueError(f"state: the coordinate {dim!r} is {found}, want {head.get(key)} in the order of {key}")
    return head, {str(n): np.array(v.values) for n, v in state.data_vars.items()}


def check_header(head: Any, where: str) -> None:
    """ValueError where the header is of another format. A key that it lacks is found by those who read it."""
    if not isinstance(head, dict) or head.get("format") not in READ:
        got = head.get("format") if isinstance(head, dict) else head
        raise ValueError(f"{where}: state of format {got!r}, this version reads formats {', '.join(map(str, READ))}")
    if not isinstance(head.get("settings", {}), dict):
        raise ValueError(f"{where}: settings are {head['settings']!r}, want a table")
