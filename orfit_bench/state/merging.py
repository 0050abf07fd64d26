"""Merging of two states that learned different rows, and averaging of several states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from orfit_bench.errors import suggest, with_place
from orfit_bench.spec.merge import Side
from orfit_bench.spec.method import Method
from orfit_bench.spec.setting import describe_value, equal_values
from orfit_bench.spec.state import Field
from orfit_bench.state.layout import StateLayout
from orfit_bench.state.state import LearnerState, Minuend, Sizes, StateRule, larger_squares

Fields = dict[str, Any]


def check_alike(act: str, a: StateRule, b: StateRule) -> None:
    """Raise ValueError if two rules differ in anything that determines what they learn."""
    if b.method != a.method:
        raise ValueError(f"{act}: the learners differ in method: {a.method.name} and {b.method.name}")
    if differing := [k for k, v in a.settings.items() if not equal_values(v, b.settings[k])]:
        one, other = (describe_value(side.settings[differing[0]]) for side in (a, b))
        raise ValueError(f"{act}: settings differ: {differing[0]} is {one} and {other}")
    if a.model != b.model:
        remedy = ""
        if a.model.name == b.model.name:
            unlike = [f.name for f in fields(a.model) if getattr(a.model, f.name) != getattr(b.model, f.name, None)]
            remedy = f", which differ in {', '.join(unlike) or 'type'}: pass the same model to both learners"
        raise ValueError(f"{act}: the learners differ in model: {a.model.name} and {b.model.name}{remedy}")
    if a.dtype != b.dtype:
        raise ValueError(f"{act}: the learners differ in dtype: {a.dtype} and {b.dtype}")
    if not equal_values(a.initial_weights, b.initial_weights):
        raise ValueError(f"{act}: the learners started from different initial_weights")


def check_states_alike(act: str, a: LearnerState | None, b: LearnerState | None, labels: bool) -> None:
    """Raise ValueError if one of two states has pending rows, or if their sizes differ; classes may differ."""
    if any(state and state.pending.count for state in (a, b)):
        raise ValueError(f"{act}: one of the learners has pending rows: call flush() first")
    if not (a and b):
        return
    if a.sizes.n_features != b.sizes.n_features:
        raise ValueError(f"{act}: the learners differ in features: {a.sizes.n_features} and {b.sizes.n_features}")
    if a.sizes.y_is_1d != b.sizes.y_is_1d or (not labels and a.sizes.n_outputs != b.sizes.n_outputs):
        one, other = ("y (n,)" if s.y_is_1d else f"y (n, {s.n_outputs})" for s in (a.sizes, b.sizes))
        raise ValueError(f"{act}: the learners differ in outputs: {one} and {other}")
    for what in ("feature_names", "target_names"):
        one, other = getattr(a, what), getattr(b, what)
        if one and other and one != other:
            remedy = "; one must have learned its columns in the order of the other" if {*one} == {*other} else ""
            raise ValueError(f"{act}: the learners differ in {what.replace('_', ' ')}: {one} and {other}{remedy}")


def merge(
    rule: StateRule,
    a: LearnerState,
    other_rule: StateRule,
    b: LearnerState,
    start: Callable[[Fields], Fields] | None = None,
) -> LearnerState:
    """Return a new state for the rows of both, those of b after those of a, which have the same sizes and classes.

    The other rule may have another backend or random_state. `start` turns the fields before the first row into those
    that b began with, if they differ. Raises ValueError if the method has no rule for this merge.
    """
    how = rule.method.combine.merge
    assert how is not None  # by check_has_merge
    first = start_of(rule, a.sizes)
    other_first = copy_fields(first) if other_rule is rule else start_of(other_rule, b.sizes)
    if how.kind == "exact":
        _check_same_start(first, other_first, (rule.random_state, other_rule.random_state))
    n_samples = a.n_samples + b.n_samples  # with rows of weight 0, which change nothing else
    if not b.n_steps:
        return replace(a, n_samples=n_samples)
    if not a.n_steps:
        return replace(placed(rule, b, other_rule.layout(b.sizes).arrays(b.arrays)), n_samples=n_samples)
    try:
        if start:
            first, other_first = start(wide(first)), start(wide(other_first))
        one, other = side(rule, a, first), side(other_rule, b, other_first)
        with np.errstate(all="ignore"):  # numbers that are not finite are refused by `placed`
            returned = how.rule(one, other, rule.settings)
        fields = {**one.fields, **_returned_fields(rule, a.sizes, one.fields, returned)}
        merged = placed(rule, a, in_dtype(rule, with_derived(rule, fields)))
    except ValueError as error:
        raise ValueError(f"{rule.method.name} cannot be merged here: {error}") from error
    steps = a.n_steps + b.n_steps if how.kind == "exact" else max(a.n_steps, b.n_steps)
    warned = a.has_warned or b.has_warned  # else the merged learner warns, if its mark is new
    merged = replace(merged, n_steps=steps, n_samples=n_samples, has_warned=warned)
    merged.minuend = _larger(a.minuend, b.minuend, steps)
    return merged


def _returned_fields(rule: StateRule, sizes: Sizes, known: Mapping[str, Any], returned: object) -> Mapping[str, Any]:
    """The result of the merge rule; ValueError if it is not a dict of fields, or one has another shape.

    The shapes of growing fields are checked by `placed`, since their lengths may follow from other fields.
    """
    merge = rule.method.combine.merge
    assert merge is not None  # by check_has_merge
    if not isinstance(returned, Mapping):
        got = "None" if returned is None else type(returned).__name__
        raise ValueError(f"{with_place(merge.rule)} returned {got}, want a dict of the merged fields by name")
    if strange := [name for name in returned if name not in known]:
        near = suggest(strange[0], known)
        raise ValueError(f"the merge rule returned {strange[0]!r}, which is no field of {rule.method.name}{near}")
    for name, value in returned.items():
        _check_numbers(rule, name, value)
    layout = rule.layout(sizes)
    for field in layout.fields:
        if field.name in returned and layout.grows not in field.dims:
            _check_shape(layout, field, returned, 0)
    return returned


def _check_numbers(rule: StateRule, name: str, value: object) -> None:
    """ValueError for a merged field whose kind the rule's dtype cannot hold: imaginary parts, masks, strings."""
    if isinstance(value, np.ma.MaskedArray):
        raise ValueError(f"the merge rule returned {name!r} with masked values: drop or fill what is masked")
    dtype = np.asarray(value).dtype
    if dtype.kind not in ("buifc" if rule.dtype.kind == "c" else "buif"):
        raise ValueError(f"the merge rule returned {name!r} of dtype {dtype}, want numbers that {rule.dtype} can hold")


def _larger(a: Minuend | None, b: Minuend | None, steps: int) -> Minuend | None:
    """The larger sums from which rows of two learners were unlearned, as if that had happened in the last step."""
    if a and b:
        return Minuend(larger_squares(a.squares, b.squares), steps)
    found = a or b
    return found and found._replace(n_steps=steps)


def check_has_merge(rule: StateRule) -> None:
    """Raise ValueError if the method declares no merge."""
    if rule.method.combine.merge is None:
        raise ValueError(f"{rule.method.name} has no rule for merging: learn the rows with one learner")


def check_mergeable(rule: StateRule) -> None:
    """Raise ValueError with the reason if learners of the rule that have both learned rows cannot be merged."""
    check_has_merge(rule)
    how = rule.method.combine.merge
    if how and (reason := how.refuses(rule.settings, rule.is_linear)):
        raise ValueError(f"{rule.method.name} cannot be merged here: {reason}")


def in_dtype(rule: StateRule, fields: Fields) -> Fields:
    """The fields in the dtype of the rule."""
    with np.errstate(over="ignore"):  # infinite numbers are refused by `placed`
        return {name: np.asarray(a).astype(rule.dtype) for name, a in fields.items()}


def placed(rule: StateRule, like: LearnerState, fields: Fields) -> LearnerState:
    """The state with other fields, given as host arrays. Raises ValueError if they do not fit the rule."""
    layout = rule.layout(like.sizes)
    known = {f.name for f in layout.fields}
    if strange := [name for name in fields if name not in known]:
        raise ValueError(f"state: {strange[0]!r} is no field of {rule.method.name}")
    count = next((len(fields[f.name]) for f in layout.fields if layout.grows in f.dims), 0)
    if layout.limit is not None and count > layout.limit:
        raise ValueError(f"state: {count} entries along {layout.grows!r}, the settings allow {layout.limit}")
    for f in layout.fields:
        _check_shape(layout, f, fields, count)
        if not np.isfinite(fields[f.name]).all():
            raise ValueError(f"state: {f.name!r} holds numbers that are not finite")
    lost = bool(rule.method.state.warning and fields.get(rule.method.state.warning.field, False))
    return replace(like, arrays=layout.start(fields), pending=rule.no_rows(like.sizes), has_warned=lost)


def _check_shape(layout: StateLayout, field: Field, fields: Mapping[str, Any], count: int) -> None:
    """Raise ValueError if a field does not have the shape that the layout gives it with this number of entries."""
    if (shape := np.shape(fields[field.name])) != (want := layout.shape(field.dims, count)):
        raise ValueError(f"state: {field.name!r} has shape {shape}, want {want}")


def side(rule: StateRule, state: LearnerState, first: Fields | None = None) -> Side:
    """The input of a merge rule for a learner; `first` are its fields before the first row, if known."""
    fields, first = rule.layout(state.sizes).arrays(state.arrays), first or start_of(rule, state.sizes)
    return Side(wide(fields), wide(first), state.n_steps, state.n_samples, float(np.finfo(rule.dtype).eps))


def start_of(rule: StateRule, sizes: Sizes) -> Fields:
    """The fields before the first row."""
    return rule.layout(sizes).arrays(rule.init(sizes).arrays)


def _check_same_start(one: Fields, other: Fields, seeds: tuple[int, int]) -> None:
    """Raise ValueError if the states start differently: an exact merge subtracts the prior or the initial weights."""
    if differing := [name for name in one if not np.array_equal(one[name], other[name])]:
        text = f"random_state is {seeds[0]} and {seeds[1]}"
        raise ValueError(f"merge: the learners started from different {differing[0]}: {text}")


# ---------------------------------------------------------------------- means


def mean(rules: Sequence[StateRule], states: Sequence[LearnerState], counts: Sequence[float]) -> list[LearnerState]:
    """The states, all with the mean of their weights, weighted by `counts`; each keeps its number of steps."""
    first, method = rules[0], rules[0].method
    fields = [wide(first.layout(state.sizes).arrays(state.arrays)) for state in states]
    there = [name for name in method.combine.averages if name in fields[0]]
    by, alike = method.combine.average_weights, [1.0] * len(states)
    weights = {name: [float(f[by[name]].real) for f in fields] if name in by else counts for name in there}
    weights |= dict.fromkeys(by.values(), alike)  # their sum does not change
    means = {name: _mean([f[name] for f in fields], weights[name]) for name in there}
    return [
        replace(state, arrays=rule.layout(state.sizes).start(with_derived(rule, own | means)))
        for rule, state, own in zip(rules, states, fields, strict=True)
    ]


def _mean(arrays: Sequence[Any], weights: Sequence[float]) -> Any:
    """The weighted mean; the first array if all weights are zero."""
    if not (total := sum(weights)):
        return arrays[0]
    with np.errstate(over="ignore", invalid="ignore"):
        found = sum(w * a for w, a in zip(weights, arrays, strict=True)) / total
    if np.isfinite(found).all():
        return found
    return sum(w / total * a for w, a in zip(weights, arrays, strict=True))


def with_derived(rule: StateRule, fields: Fields) -> Fields:
    """The fields, with those that follow from others computed again."""
    derived = rule.method.combine.derive
    return fields | derived(fields, rule.settings) if derived else fields


def copy_fields(fields: Fields) -> Fields:
    """The same values in other arrays."""
    return {name: np.array(a) for name, a in fields.items()}


def wide(fields: Fields) -> Fields:
    """The fields in double precision."""
    return {name: np.asarray(a, np.result_type(a, float)) for name, a in fields.items()}


def alternative(method: Method) -> str:
    """What to do for a method without an average, as the end of a message."""
    return "; merge() joins two of its learners" if method.combine.merge else ""
