"""The arrays of a state in host memory, and a state rebuilt from its header and arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from orfit_bench.spec.arrays import has_finite_sum
from orfit_bench.state.header import class_labels, column_names, read_count
from orfit_bench.state.layout import StateLayout
from orfit_bench.state.pending import PendingRows
from orfit_bench.state.state import LearnerState, Sizes, StateRule

HostArray = np.ndarray[Any, Any]
RENAMED = {"digits_lost": "precision_lost"}
"""Fields that were renamed after format 1."""
INITIAL_WEIGHTS = "initial_weights"
PENDING_X, PENDING_Y = "pending_X", "pending_y"
SETTING = "setting_"
"""Prefix of the names of settings that are arrays, among the arrays of a state."""


def arrays(rule: StateRule, state: LearnerState | None) -> dict[str, HostArray]:
    """Copies of the state's arrays, pending rows included, in host memory."""
    given = {SETTING + n: np.array(v) for n, v in rule.settings.items() if isinstance(v, np.ndarray) and v.ndim}
    if rule.initial_weights is not None:
        given[INITIAL_WEIGHTS] = np.array(rule.initial_weights)
    if state is None:
        return given
    pending_X, pending_y = (rule.backend.asnumpy(a) for a in state.pending.concatenate())
    fields = rule.layout(state.sizes).arrays(state.arrays)
    return {**fields, PENDING_X: pending_X, PENDING_Y: pending_y, **given}


def read_array(rule: StateRule, state: LearnerState, name: str) -> HostArray:
    """A copy of an array of the state in host memory. Raises KeyError if there is none of this name."""
    if rule.method.state.solution and name == rule.method.state.weights:
        return np.array(rule.backend.asnumpy(rule.solved_weights(state)))
    found = arrays(rule, state)
    if name not in found:
        raise KeyError(f"{rule.method.name} has no array {name!r} in its state, which has {', '.join(found)}")
    return found[name]


def state_from_header(rule: StateRule, head: dict[str, Any], given: Mapping[str, HostArray]) -> LearnerState | None:
    """The state that a header describes; None before the first chunk. ValueError if it does not fit the rule."""
    classes = class_labels(head) if rule.method.traits.labels else ()
    if head["n_features"] is None:
        refuse_arrays_of_rows(given)
        return None
    sizes = read_sizes(head)
    steps, samples = read_count(head, "t"), read_count(head, "n_samples_seen")
    layout = rule.layout(sizes)
    fields = _read_fields(rule, layout, _with_present_names(layout, given) if head["format"] == 1 else given)
    waiting = _read_pending(rule, sizes, samples, given)
    has_warned = _read_mark(rule, fields)
    d, c = sizes[:2]
    names = column_names(head, "feature_names", d), column_names(head, "target_names", c)
    return LearnerState(sizes, layout.place(fields), waiting, steps, samples, classes, *names, has_warned=has_warned)


def read_sizes(head: dict[str, Any]) -> Sizes:
    """The numbers of features and outputs. Raises ValueError if they are not valid."""
    if not isinstance(head["y_is_vector"], bool):
        raise ValueError(f"state: y_is_vector is {head['y_is_vector']!r}, want true or false")
    sizes = Sizes(read_count(head, "n_features", least=1), read_count(head, "n_outputs"), head["y_is_vector"])
    if sizes.y_is_1d and sizes.n_outputs > 1:
        raise ValueError(f"state: y is one-dimensional, but has {sizes.n_outputs} outputs")
    return sizes


def _with_present_names(layout: StateLayout, given: Mapping[str, HostArray]) -> dict[str, HostArray]:
    """The arrays of a state of format 1 by the names that their fields have now."""
    own = {f.name for f in layout.fields}
    return {name if name in own else RENAMED.get(name, name): array for name, array in given.items()}


def _read_fields(rule: StateRule, layout: StateLayout, given: Mapping[str, HostArray]) -> dict[str, HostArray]:
    """The array of each field; zeros for a field that earlier versions did not have."""
    grown = next((f.name for f in layout.fields if layout.grows in f.dims), "") if layout.grows else ""
    count = len(given.get(grown, ()))
    if layout.limit is not None and count > layout.limit:
        raise ValueError(f"state: {count} entries along {layout.grows!r}, the settings allow {layout.limit}")
    solved = [rule.method.state.weights] if rule.method.state.solution else []  # states in memory hold them too
    refuse_unknown(given, [*(f.name for f in layout.fields), *solved])
    new = later_fields(rule, layout)
    shapes = {f.name: layout.shape(f.dims, count) for f in layout.fields}
    added = {name: np.zeros(shape, rule.dtype) for name, shape in shapes.items() if name in new}
    return {name: checked(name, {**added, **given}, shape, rule.dtype) for name, shape in shapes.items()}


def later_fields(rule: StateRule, layout: StateLayout) -> set[str]:
    """The fields that earlier versions did not have, which are zero if they are missing."""
    names = {f.name for f in layout.fields}
    new = {f.name for f in layout.fields if f.later}
    if "information_root" in {f.role for f in layout.fields}:  # earlier versions had no mark with it
        new |= names & {_mark_of(rule)}
    return new


def check_marks(rule: StateRule, fields: Mapping[str, HostArray]) -> None:
    """Raise ValueError if a mark of lost precision of some member is neither 0 nor 1."""
    name = _mark_of(rule)
    if name in fields and not np.isin(fields[name], (0, 1)).all():
        raise ValueError(f"state: {name!r} is {fields[name].tolist()!r}, want 0 or 1 for each member")


def _read_pending(rule: StateRule, sizes: Sizes, samples: int, given: Mapping[str, HostArray]) -> PendingRows:
    """The pending rows, which may outnumber the rows seen if weights repeat rows."""
    pending = len(given[PENDING_X]) if PENDING_X in given else 0
    weighting = rule.method.kernel.weighting
    repeats = weighting is not None and weighting.repeats_rows
    if pending >= rule.batch_size or (pending > samples and not (repeats and samples)):
        raise ValueError(
            f"state: {pending} pending rows do not fit {samples} rows seen and a batch_size of {rule.batch_size}"
        )
    X = checked(PENDING_X, given, (pending, sizes.n_features), rule.dtype)
    Y = checked(PENDING_Y, given, (pending, sizes.n_outputs), rule.dtype)
    waiting = rule.no_rows(sizes)
    return waiting.with_rows(rule.backend.asarray(X), rule.backend.asarray(Y)) if pending else waiting


def _mark_of(rule: StateRule) -> str:
    """The field that is 1 if precision was lost; empty if there is none."""
    warning = rule.method.state.warning
    return warning.field if warning else ""


def _read_mark(rule: StateRule, fields: Mapping[str, HostArray]) -> bool:
    """Whether precision was lost."""
    name = _mark_of(rule)
    mark = fields[name].item() if name in fields else 0  # complex in a complex state
    if mark not in (0, 1):
        raise ValueError(f"state: {name!r} is {mark!r}, want 0 or 1")
    return bool(mark)


def refuse_unknown(given: Iterable[str], fields: Iterable[str]) -> None:
    """Raise ValueError if there are arrays other than these fields and those that every state may have."""
    known = {*fields, PENDING_X, PENDING_Y, INITIAL_WEIGHTS}
    if unknown := sorted(name for name in given if name not in known and not name.startswith(SETTING)):
        raise ValueError(f"state: the array {unknown[0]!r} is unknown")


def refuse_arrays_of_rows(given: Iterable[str]) -> None:
    """Raise ValueError if there are arrays that no learner has before its first row."""
    if found := sorted(name for name in given if name != INITIAL_WEIGHTS and not name.startswith(SETTING)):
        raise ValueError(f"state: n_features is null, as before the first row, but there is the array {found[0]!r}")


def checked(name: str, given: Mapping[str, HostArray], shape: tuple[int, ...], dtype: np.dtype[Any]) -> HostArray:
    """The array of this name, in C order and the byte order of this machine; ValueError if it does not fit."""
    array = given.get(name)
    if array is None:
        raise ValueError(f"state: the array {name!r} is missing")
    if array.shape != shape or array.dtype.newbyteorder("=") != dtype:
        raise ValueError(f"state: {name!r} has shape {array.shape} and dtype {array.dtype}, want {shape} of {dtype}")
    array = np.ascontiguousarray(array, dtype).reshape(shape)
    if not (has_finite_sum(array) or np.isfinite(array).all()):
        raise ValueError(f"state: {name!r} holds numbers that are not finite")
    return array
