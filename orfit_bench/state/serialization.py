"""The state of a learner outside of it: as an xarray Dataset, as an .npz file, and back. No pickle is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from orfit_bench.jobs.files import replace
from orfit_bench.schedules import Schedule
from orfit_bench.spec import SPEC_VERSION, Transition

if TYPE_CHECKING:
    import xarray

    from orfit_bench.learners.learner import Learner

Kind = TypeVar("Kind", bound="Learner")
FORMAT = 1


SETTING = "setting_"
"""Before the name of a setting that is an array, among the arrays of a state."""


def config(settings: Any) -> dict[str, Any]:
    """Settings as JSON knows them; a function (a nonlinear transition) by its name."""
    return {name: _plain_setting(value) for name, value in settings.items()}


def _plain_setting(value: Any) -> Any:
    if isinstance(value, Schedule):
        return value.config()
    if isinstance(value, Transition):
        return {"transition": value.name}
    return value.tolist() if isinstance(value, np.ndarray) else value


def header(learner: Learner) -> dict[str, Any]:
    """All of the state that is no array."""
    learner._check_usable()
    device = learner.backend.described
    return {
        **({"device": device} if device else {}),
        "format": FORMAT,
        "spec_version": list(SPEC_VERSION),
        "method": learner.method.name,
        "settings": {k: v for k, v in config(learner.settings).items() if not isinstance(v, list)},
        "backend": learner.backend.name,
        "dtype": str(learner.dtype),
        "random_state": learner.random_state,
        "model": learner.model.name,
        "t": learner._steps,
        "n_samples_seen": learner._seen,
        "n_features": learner._features,
        "n_outputs": learner._outputs,
        "y_is_vector": learner._vector,
        **learner._more_header(),
    }


def arrays(learner: Learner) -> dict[str, np.ndarray[Any, Any]]:
    """Copies of the state's arrays, rows that wait included, in host memory."""
    given = {SETTING + n: np.array(v) for n, v in learner.settings.items() if isinstance(v, np.ndarray) and v.ndim}
    if learner.initial_weights is not None:
        given["initial_weights"] = np.array(learner.initial_weights)
    if learner._features is None:
        return given
    pending_X, pending_y = (learner.backend.asnumpy(a) for a in learner._waiting.joined())
    waiting = {"pending_X": pending_X, "pending_y": pending_y}
    return {**learner._layout_.arrays(learner._s), **waiting, **given}


def rebuild(like: Kind, head: dict[str, Any], given: dict[str, np.ndarray[Any, Any]]) -> Kind:
    """A learner of the same declaration as `like`, in the state described; ValueError where it does not fit."""
    new = type(like)(
        like.method,
        dict(like.settings),
        like.backend,
        like._kernel,
        str(like.dtype),
        like.random_state,
        like.model,
        like.initial_weights,
    )
    new._take_header(head)
    if head["n_features"] is None:
        return new
    d, c = _count(head, "n_features", least=1), _count(head, "n_outputs")
    if head["y_is_vector"] and c > 1:
        raise ValueError(f"state: y is one-dimensional, but has {c} outputs")
    new._steps, new._seen = _count(head, "t"), _count(head, "n_samples_seen")
    layout = new._layout(d, c)
    fields = {f.name: given.get(f.name) for f in layout.fields}
    count = next((len(a) for f in layout.fields if layout.grows in f.dims and (a := fields[f.name]) is not None), 0)
    if layout.limit is not None and count > layout.limit:
        raise ValueError(f"state: {count} entries along {layout.grows!r}, the settings allow {layout.limit}")
    for f in layout.fields:
        _check(f.name, fields[f.name], layout.shape(f.dims, count), new.dtype)
    new._place(layout, d, c, bool(head["y_is_vector"]))
    waiting = len(given["pending_X"]) if "pending_X" in given else 0
    if waiting >= new._batch_size or waiting > new._seen:
        raise ValueError(f"state: {waiting} rows wait, of {new._seen} seen, for a batch of {new._batch_size}")
    _check("pending_X", given.get("pending_X"), (waiting, d), new.dtype)
    _check("pending_y", given.get("pending_y"), (waiting, c), new.dtype)
    new._s = layout.start(fields)
    pending_X, pending_y = (np.ascontiguousarray(given[n], new.dtype) for n in ("pending_X", "pending_y"))
    new._waiting.add(new.backend.asarray(pending_X), new.backend.asarray(pending_y))
    new._warned = bool(like.method.warns and fields.get(like.method.warns[0], False))
    return new


def _count(head: dict[str, Any], key: str, least: int = 0) -> int:
    value = head[key]
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"state: {key} is {value!r}, want an integer >= {least}")
    return int(value)


def _check(name: str, array: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if array is None:
        raise ValueError(f"state: the array {name!r} is missing")
    if array.shape != shape or array.dtype.newbyteorder("=") != dtype:
        raise ValueError(f"state: {name!r} has shape {array.shape} and dtype {array.dtype}, want {shape} of {dtype}")
    if not np.isfinite(array).all():
        raise ValueError(f"state: {name!r} holds numbers that are not finite")


def to_dataset(learner: Learner) -> xarray.Dataset:
    """The state with named dimensions; a name that stands twice in one array gets a number."""
    import xarray

    given, head = arrays(learner), header(learner)
    dims: dict[str, tuple[str, ...]] = {
        "initial_weights": ("parameter", "output"),
        "pending_X": ("waiting", "feature"),
        "pending_y": ("waiting", "target"),
    }
    dims |= {n: (f"{n}_row", f"{n}_column") for n in given if n.startswith(SETTING)}
    fields = learner._layout_.fields if learner._features is not None else ()
    dims |= {f.name: f.dims for f in fields}
    meaning = {f.name: f.meaning for f in fields}
    variables = {
        name: (_distinct(dims[name][: a.ndim]), a, {"long_name": meaning.get(name, "")} if name in meaning else {})
        for name, a in given.items()
    }
    return xarray.Dataset(variables, attrs={"orfit_bench": json.dumps(head)} | _plain(head))


def _plain(head: dict[str, Any]) -> dict[str, Any]:
    """What a reader looks for first, as attributes of their own, of kinds that netCDF knows."""
    return {k: json.dumps(v) if isinstance(v, (dict, list, bool)) else v for k, v in head.items() if v is not None}


def _distinct(dims: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(d if d not in dims[:i] else f"{d}_{i + 1}" for i, d in enumerate(dims))


def save(learner: Learner, path: Any) -> None:
    """Write header and arrays to path, which holds the old file or the whole new one at every moment."""
    head = np.frombuffer(json.dumps(header(learner)).encode(), np.uint8)
    given = arrays(learner)

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:  # a path would get the ending .npz
            np.savez(file, allow_pickle=False, header=head, **given)

    replace(Path(path), write)


def read(path: Any) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """Header and arrays of a saved file; ValueError naming the file where it is damaged or something else."""
    with open(path, "rb") as raw:  # what the system refuses (no such file, a folder) is no damaged file
        try:
            with np.load(raw, allow_pickle=False) as file:
                given = {name: file[name] for name in file.files}
            head = json.loads(given.pop("header").tobytes())
        except Exception as error:  # a flipped bit raises anything: struct.error, NotImplementedError, MemoryError, ...
            pickled = "it is no .npz file, or holds pickled objects, which are never read"
            said = pickled if "pickle" in str(error) else f"{type(error).__name__}: {error}"
            raise ValueError(f"{path}: not a whole state saved by orfit_bench ({said})") from error
    return head, given


def from_dataset(state: xarray.Dataset) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """Header and arrays of what `state()` returned."""
    if "orfit_bench" not in getattr(state, "attrs", {}):
        raise ValueError(f"this {type(state).__name__} is no learner's state: its attrs have no 'orfit_bench'")
    return json.loads(state.attrs["orfit_bench"]), {str(n): np.array(v.values) for n, v in state.variables.items()}


def check_header(head: Any, where: str) -> None:
    """ValueError where the header is of another format. A key that it lacks is found by those who read it."""
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        got = head.get("format") if isinstance(head, dict) else head
        raise ValueError(f"{where}: state of format {got!r}, this version reads format {FORMAT}")
    if not isinstance(head.get("settings", {}), dict):
        raise ValueError(f"{where}: settings are {head['settings']!r}, want a table")
