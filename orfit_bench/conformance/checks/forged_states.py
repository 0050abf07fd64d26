"""Saved learners whose content was changed by a program that also corrected the checksums."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from orfit_bench.conformance.check import check, ensure, ensure_raises
from orfit_bench.conformance.checks.saved_files import (
    changed_arrays,
    in_format,
    read_members,
    save,
    with_longer_headers,
    with_longer_member,
    with_member_without_ending,
)
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import layout_of
from orfit_bench.learners.restoring import from_bytes, load
from orfit_bench.state import binary, files

Header = dict[str, Any]
Arrays = dict[str, Any]
IMPOSSIBLE_VERSIONS: tuple[Any, ...] = ([1], [0, 0, 0], [1, 0, 0], ["1", 0], [1.0, 0], "1.0", None, [10**6, 0])
"""Impossible versions of the specification of a state; the last one is later than any."""
IMPOSSIBLE_FORMATS: tuple[Any, ...] = (0, 99, "4", None)
"""Format numbers that no version writes; the second one is later than any."""
Forge = Callable[[Header, Arrays], Any]
"""Changes a header or the arrays in place."""


@check(all_variants=False)
def forged_bytes_are_refused(context: CheckContext) -> None:
    """Bytes with impossible content and a correct checksum raise a ValueError that names from_bytes."""
    new = binary.decode(context.create().to_bytes()).of_state
    ensure(new["t"] == new["n_samples_seen"] == 0, f"the bytes of a new learner count {new['n_samples_seen']} rows")
    learner = context.train(context.rows())
    good = binary.decode(learner.to_bytes())
    for what, forge in _forgeries(context, learner, good.of_state):
        head, arrays = json.loads(json.dumps(good.of_state)), {name: a.copy() for name, a in good.arrays.items()}
        forge(head, arrays)
        data = binary.pack(good.of_rule, head, arrays)
        ensure_raises(partial(from_bytes, data, **context.model), ValueError, what, "from_bytes")
    if (waiting := with_waiting_rows(context)) is not None:
        found = binary.decode(waiting.to_bytes())
        data = binary.pack(found.of_rule, found.of_state | {"n_samples_seen": 1}, found.arrays)
        act = partial(from_bytes, data, **context.model)
        ensure_raises(act, ValueError, f"{waiting.pending} pending rows, of one that was seen", "from_bytes")
    data = learner.to_bytes()
    for longer in ({"rule": len(data)}, {"rule": 2**31}, {"state": len(data)}, {"state": 2**31}):
        act = partial(from_bytes, with_longer_headers(data, **longer), **context.model)
        ensure_raises(act, ValueError, "a header that is longer than the bytes", "cut, extended or damaged")
    entries = [*(("spec_version", v) for v in IMPOSSIBLE_VERSIONS), *(("format", v) for v in IMPOSSIBLE_FORMATS)]
    for key, value in entries:
        rule = json.dumps({**json.loads(good.of_rule), key: value}).encode()
        data = binary.pack(rule, good.of_state, good.arrays)
        ensure_raises(partial(from_bytes, data, **context.model), ValueError, f"{key} {value!r}", "from_bytes")
    _, version, checksum = binary.PREFIX.unpack_from(data)
    other = binary.PREFIX.pack(b"X" * len(binary.MAGIC), version, checksum) + data[binary.PREFIX.size :]
    ensure_raises(partial(from_bytes, other, **context.model), ValueError, "bytes that begin otherwise", "from_bytes")
    for k in range(binary.START):
        ensure_raises(partial(from_bytes, data[:k], **context.model), ValueError, f"{k} bytes of the header")


def with_waiting_rows(context: CheckContext) -> Any:
    """A learner with two pending rows of a batch of four; None without batches, or if a row can wait repeatedly."""
    weighting = context.method.kernel.weighting
    repeats = weighting is not None and weighting.repeats_rows
    has_batches = any(setting.name == "batch_size" for setting in context.method.settings)
    return context.train(context.rows(n=2), batch_size=4) if has_batches and not repeats else None


def _forgeries(context: CheckContext, learner: Any, header: Header) -> Iterator[tuple[str, Forge]]:
    """Yield descriptions of impossible contents, and the functions that write them."""
    name = layout_of(learner).fields[0].name
    for key in ("t", "n_samples_seen", "n_features", "n_outputs"):
        for value in (-1, 1.5, "3", True, 2**63):
            yield f"{key} of {value!r}", _with_entry(key, value)
        yield f"no {key}", _without(key)
    yield "y_is_vector of 1", _with_entry("y_is_vector", 1)
    if header["n_outputs"] > 1:
        yield "y of one dimension with several outputs", _with_entry("y_is_vector", True)
    roles = {field.name: field.role for field in layout_of(learner).fields}
    warning = context.method.state.warning and context.method.state.warning.field
    for field in roles:
        if field != warning or "information_root" not in roles.values():  # earlier versions saved it without a mark
            yield f"no {field}", _without_array(field)
    if warning in roles:
        for mark in (2, 0.5):
            yield f"{warning} of {mark}", _with_array(warning, partial(np.full_like, fill_value=mark))
    yield f"{name} of another shape", _with_array(name, lambda a: np.append(a.reshape(-1), [0, 0]).astype(a.dtype))
    yield f"{name} of integers", _with_array(name, lambda a: np.zeros(a.shape, np.int64))
    yield "an unknown array", lambda head, arrays: arrays.update(no_such_field=arrays[name])
    B = context.batch_size
    waiting = {"pending_X": np.zeros((B, learner.n_features_in_), learner.dtype)}
    waiting["pending_y"] = np.zeros((B, header["n_outputs"]), learner.dtype)
    yield f"{B} pending rows for a batch of {B}", lambda head, arrays: arrays.update(waiting)
    for value in (np.nan, np.inf):
        yield f"{value} in {name}", _with_array(name, partial(_with_last, value))
    yield "names of too many features", _with_entry("feature_names", [f"x{i}" for i in range(99)])
    yield "a name that two features have", _with_entry("feature_names", ["x"] * learner.n_features_in_)
    names = [f"x{i}" for i in range(learner.n_features_in_)]
    yield "a name of a feature twice", _with_entry("feature_names", [*names, names[-1]])
    if context.method.traits.labels:
        for what, labels in _impossible_labels(header["classes"]).items():
            yield f"classes that are {what}", _with_entry("classes", labels)


def _impossible_labels(classes: list[Any]) -> dict[str, Any]:
    return {
        "of two types": [*classes[:-1], 7 if isinstance(classes[0], str) else "seven"],
        "of a type that labels cannot have": [*classes[:-1], 0.5],
        "not unique": [*classes[:-1], classes[0]],
        "too few": classes[:-1],
        "too many": [*classes, 7 if isinstance(classes[0], int) else "one more"],
        "not a list": "".join(map(str, classes)),
    }


def _with_entry(key: str, value: Any) -> Forge:
    return lambda head, arrays: head.update({key: value})


def _without(key: str) -> Forge:
    return lambda head, arrays: head.pop(key)


def _without_array(name: str) -> Forge:
    return lambda head, arrays: arrays.pop(name)


def _with_array(name: str, change: Callable[[Any], Any]) -> Forge:
    return lambda head, arrays: arrays.update({name: change(arrays[name])})


def _with_last(value: float, a: Any) -> Any:
    a = np.array(a)
    a.reshape(-1)[-1:] = value
    return a


@check(all_variants=False)
def forged_files_are_refused(context: CheckContext) -> None:
    """A file with a changed array, header, digest or member raises a ValueError that names the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "state.npz")
        good = read_members(save(context, 9))
        for what, members in _changed_members(good):
            np.savez(path, allow_pickle=False, **members)
            ensure_raises(partial(load, path, **context.model), ValueError, what, str(path))
        for what, change in (
            ("a member without its ending", with_member_without_ending),
            ("bytes after the array", with_longer_member),
        ):
            path.write_bytes(change(save(context, 9)))
            ensure_raises(partial(load, path, **context.model), ValueError, what, str(path))
        earlier = in_format(good, 3)
        for wrong in (0, 2**33):
            np.savez(path, allow_pickle=False, **(earlier | {"checksum": np.array(wrong)}))
            ensure_raises(partial(load, path, **context.model), ValueError, "a wrong checksum in format 3", str(path))
        for name, changed in changed_arrays(earlier):
            np.savez(path, allow_pickle=False, **(earlier | {name: changed}))
            ensure_raises(partial(load, path, **context.model), ValueError, f"{name} changed in format 3", str(path))
        np.savez(path, allow_pickle=False, **in_format(good, 2))
        load(path, **context.model)
        np.savez(path, allow_pickle=False, **good)
        want = context.train(context.rows(n=9))
        context.ensure_identical(load(path, **context.model), want, "written again without a change, the learner")


def _changed_members(good: Arrays) -> Iterator[tuple[str, Arrays]]:
    """Yield descriptions of the change, and all members of the changed file."""
    head = bytes(good["header"])
    yield "a header without a space", good | {"header": np.frombuffer(head.replace(b" ", b"", 1), np.uint8)}
    for number in IMPOSSIBLE_FORMATS:
        other = json.dumps({**json.loads(head), "format": number}).encode()
        sums = {"checksum": np.array(files.digest(other))}
        yield f"format {number!r}", good | {"header": np.frombuffer(other, np.uint8)} | sums
    yield "the digest of another header", good | {"checksum": np.array("0" * 64)}
    yield "no digest of the header", {name: a for name, a in good.items() if name != "checksum"}
    yield "an unknown array", good | {"no_such_array": np.zeros(3)}
    for name in sorted(good.keys() - {"header", "checksum"}):
        yield f"no {name}", {other: a for other, a in good.items() if other != name}
        yield f"{name} of another shape", good | {name: good[name][None]}
    for name, changed in changed_arrays(good):
        yield f"{name} with another last number", good | {name: changed}
