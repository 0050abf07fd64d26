"""Defects of streams: loads that differ, and rows that methods of the offered kinds could not learn."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import orfit_bench as ob
from orfit_bench.conformance import process_state
from orfit_bench.errors import UnavailableError, with_place
from orfit_bench.learners.rule import Rule
from orfit_bench.learners.targets import EncodedRows, with_labels, with_numbers, without_targets
from orfit_bench.sampling import SEED
from orfit_bench.spec import Data, Number, Stream
from orfit_bench.spec.stream import OFFERS
from orfit_bench.spec.stream_functions import configure, existing_files

PARTS = ("X", "y", "test", "validation", "tasks", "feature_names")


class Reader(NamedTuple):
    """A method of a kind, and the function with which learners of that kind read rows."""

    method: str
    read: Callable[..., EncodedRows]
    settings: dict[str, Any]
    """Settings with which it also learns rows of a single feature."""


def _read_rows(rule: Rule, state: None, X: object, y: object) -> EncodedRows:
    return without_targets(rule, state, X)


READERS = {
    "regression": Reader("lms", with_numbers, {}),
    "filter": Reader("kalman", with_numbers, {}),
    "classification": Reader("class_rls", with_labels, {}),
    "subspace": Reader("oja", _read_rows, {"n_components": 1}),
}
HELD_OUT = READERS | {"regression": READERS["filter"]}
"""The readers of rows that are not learned, whose numbers can be missing (NaN)."""


def find_stream_defects(stream: Stream) -> Iterator[str]:
    """Yield the defects: differing loads, wrong shapes, numbers that are not finite, a y that does not match offers.

    An ignored number of rows or seed is one too, and a random generator of the process that is changed.
    """
    reason = stream.probe()
    if reason is not None and not isinstance(reason, str):
        yield f"probe() returned {type(reason).__name__}, want a string: empty if the data can be loaded"
    if reason:
        return
    if refused := _refused_settings(stream):
        yield refused
        return
    if refused := _wrong_functions(stream):
        yield refused
        return
    first = stream.load()
    before = {part: _copies(getattr(first, part)) for part in PARTS}
    second = stream.load()
    for part, a in before.items():
        b = _copies(getattr(second, part))
        if len(a) != len(b) or not all(map(_is_equal, a, b)):
            yield f"two loads give different {part}; draw random numbers from a setting `seed`"
    wrong = list(_find_wrong_shapes(second))
    yield from wrong
    if (second.y is None) != (stream.offers == "rows"):
        yield f"it declares offers={stream.offers!r}, but y is {'None' if second.y is None else 'not None'}"
    elif not wrong:
        yield from _find_changed_generators(stream)
        yield from _find_refusals(stream, second)
        yield from _find_ignored_rows(stream, len(second.X))
        yield from _find_ignored_seed(stream, second)


def _refused_settings(stream: Stream) -> str:
    """Why `make` cannot be called with the settings of the stream; empty if it can."""
    names = [setting.name for setting in stream.settings]
    try:
        inspect.signature(stream.make).bind(**dict.fromkeys(names))
    except TypeError as error:
        return f"{with_place(stream.make)} cannot be called with its settings ({', '.join(names) or 'none'}): {error}"
    except ValueError:  # a function without a signature
        pass
    return ""


def _wrong_functions(stream: Stream) -> str:
    """Why `files` or `configure` cannot be used; empty if they can."""
    owner = f"stream {stream.name!r}: "
    for call in (existing_files, partial(configure, settings={})):
        try:
            call(stream)
        except (OSError, ValueError, TypeError, UnavailableError) as error:
            if str(error).startswith(owner):  # others are of `configure`, about settings that may be required
                return str(error).removeprefix(owner)
    return ""


def _find_changed_generators(stream: Stream) -> Iterator[str]:
    """Yield a defect for each random generator of the process that a load seeds or draws from."""
    with process_state.altered_generators():
        before = process_state.read()
        stream.load()
        after = process_state.read()
    for name in process_state.GENERATORS:
        if before[name] != after[name]:
            yield f"a load changes {name}: draw from np.random.default_rng(seed), which is its own"


def _find_ignored_rows(stream: Stream, rows: int) -> Iterator[str]:
    """Yield a defect if the setting n, the number of rows of `--rows`, has no effect or gives more rows."""
    fewer = rows // 2
    count = next((setting for setting in stream.settings if setting.name == "n"), None)
    if fewer == 0 or count is None:
        return
    if count.default is not None and rows > count.default:
        yield f"n={count.default}, the default, gives {rows} rows, want at most {count.default}"
    try:
        found = len(stream.load(n=fewer).X)
    except (TypeError, ValueError):  # it needs more rows
        return
    if found == rows:
        yield f"n={fewer} gives {found} rows, as without it: let `make` use its setting n, or leave the setting out"


def _find_ignored_seed(stream: Stream, data: Data) -> Iterator[str]:
    """Yield a defect if another seed gives the same data, also if numbers that are zero by default are not zero."""
    seed = next((setting.default for setting in stream.settings if setting.name == "seed"), None)
    if not isinstance(seed, int) or SEED in stream.settings:  # added by `with_sampling`: it orders the rows
        return
    more = {s.name: 0.5 for s in stream.settings if isinstance(s.type, Number) and s.default == 0 and 0.5 in s.type}
    try:
        other = stream.load(seed=seed + 1)
        pairs = [(data, other), *([(stream.load(**more), stream.load(seed=seed + 1, **more))] if more else [])]
    except (TypeError, ValueError):  # it refuses that seed
        return
    if all(_same_part(getattr(a, part), getattr(b, part)) for a, b in pairs for part in PARTS):
        yield f"seed={seed + 1} gives the rows of seed={seed}: let `make` draw by its setting seed, or leave it out"


def _same_part(a: Any, b: Any) -> bool:
    return len(_copies(a)) == len(_copies(b)) and all(map(_is_equal, _copies(a), _copies(b)))


def _copies(part: Any) -> list[Any]:
    """Copies of the arrays of a part, since the next load may write to them."""
    parts = part if isinstance(part, tuple) else (part,)
    return [np.array(array) for array in parts]


def _is_equal(a: Any, b: Any) -> bool:
    """Whether two arrays of any dtype are equal, with NaN equal to NaN."""
    return a.shape == b.shape and bool(np.all((a == b) | ((a != a) & (b != b))))


def _pairs(data: Data) -> Iterator[tuple[str, Any, Any]]:
    """The rows of each part in memory, with its name."""
    parts = {"the stream": (data.X, data.y), "test": data.test, "validation": data.validation}
    for name, part in parts.items():
        if part is not None:
            X, y = (rows if rows is None or isinstance(rows, (np.ndarray, list)) else np.asarray(rows) for rows in part)
            yield name, X, y


def _find_wrong_shapes(data: Data) -> Iterator[str]:
    """Yield the parts whose rows have another shape, are not real numbers or are not finite."""
    d = np.shape(data.X)[1] if np.ndim(data.X) > 1 else None
    for what, rows, y in _pairs(data):
        X = np.asarray(rows)
        if X.ndim != 2 or X.shape[1] != d:
            yield f"{what} has X of shape {None if rows is None else X.shape}, want (rows, {d or 'features'})"
        elif X.dtype.kind not in "buif":
            yield f"{what} has X of dtype {X.dtype}, want real numbers"
        elif not np.isfinite(X).all():
            yield f"{what} has values in X that are not finite"
        elif (y is None) != (data.y is None) or (y is not None and len(y) != len(X)):
            yield f"{what} has {len(X)} rows of X and {'no' if y is None else len(y)} targets"


def _find_refusals(stream: Stream, data: Data) -> Iterator[str]:
    """Yield the reason of the first kind of methods that refuses rows, or that labels have several types."""
    for kind in OFFERS[stream.offers]:
        of_labels: set[type] = set()
        for what, X, y in _pairs(data):
            reader = (READERS if what == "the stream" else HELD_OUT)[kind]
            rule = ob.create(reader.method, backend="numpy", **reader.settings).rule
            try:
                rows = reader.read(rule, None, X, y)
            except (TypeError, ValueError) as error:
                yield f"it offers {stream.offers!r}, but a method of {kind} refuses {what}: {error}"
                return
            of_labels |= {type(label) for label in rows.classes}
        if len(of_labels) > 1:
            names = ", ".join(sorted(t.__name__ for t in of_labels))
            yield f"its rows, test and validation have labels of several types: {names}"
            return
