"""The names of the entries of rows: in any order, in states and copies, and in merges."""

from __future__ import annotations

import pickle
import warnings
from functools import partial
from typing import Any

import numpy as np

from orfit_bench.conformance.check import (
    Deviation,
    NotApplicable,
    check,
    ensure,
    ensure_raises,
    skip_if,
    skip_if_time_varying,
)
from orfit_bench.conformance.checks.decisions import needs_numbers
from orfit_bench.conformance.checks.merging import merge_or_skip, merges_by_default, needs_merge
from orfit_bench.conformance.checks.single_rows import learn_one, needs_single_rows
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.rows import FEATURES, Array, Chunk, frozen
from orfit_bench.learners.restoring import from_bytes, restore
from orfit_bench.spec import LINEAR

NAMED = 6
"""Number of rows learned with names."""
NAMES = [f"x{j}" for j in range(FEATURES)]
OUTPUTS = ["first", "second"]


def _named(x: Array, backwards: bool) -> dict[str, float]:
    """A row with names, in the order of the columns or backwards."""
    items = [(f"column {j}", float(value)) for j, value in enumerate(x)]
    return dict(reversed(items) if backwards else items)


def _learn_named(context: CheckContext, chunk: Chunk) -> Any:
    """A learner of rows with names, every other row backwards."""
    skip_if_time_varying(context)
    learner = context.create()
    for i in range(NAMED):
        learn_one(learner, _named(chunk.X[i], i % 2 == 1), chunk, i)
    return learner


def _learn_unnamed(context: CheckContext, chunk: Chunk) -> Any:
    """A learner of the same rows without names."""
    learner = context.create()
    for i in range(NAMED):
        context.learn_silently(learner, chunk.cut(i, i + 1))
    return learner


@check(needs_single_rows)
def named_rows_are_learned_in_any_order(context: CheckContext) -> Deviation:
    """Rows with named entries in any order give the state of rows without names; other names are refused.

    A row without names can be learned after them; the first such row gives a warning.
    """
    chunk = context.rows()
    learner, plain = _learn_named(context, chunk), _learn_unnamed(context, chunk)
    before = learner.to_bytes()
    for what, wrong in (
        ("another name", {"other": 1.0} | dict(list(_named(chunk.X[0], False).items())[1:])),
        ("an additional name", _named(chunk.X[0], False) | {"other": 1.0}),
    ):
        ensure_raises(partial(learn_one, learner, wrong, chunk, 0), ValueError, f"a row with {what}")
        ensure(learner.to_bytes() == before, f"a row with {what} was refused and changed the learner")
    found = context.compare(chunk, (learner, plain))
    _ensure_warns_of_no_names(context, learner, chunk)
    return found


def _ensure_warns_of_no_names(context: CheckContext, learner: Any, chunk: Chunk) -> None:
    """Rows without names that follow rows with names give one warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i in (NAMED, NAMED + 1):
            context.learn_silently(learner, chunk.cut(i, i + 1))
    given = [w for w in caught if w.category is UserWarning and "names of columns" in str(w.message)]
    ensure(len(given) == 1, f"two rows without names gave {len(given)} warnings, want one")


@check(needs_single_rows)
def names_are_kept(context: CheckContext) -> None:
    """A copy, a restored state, bytes and a pickle keep the names of the columns, and learn rows in any order.

    A learner that was merged with one without names keeps them too.
    """
    chunk = context.rows()
    learner = _learn_named(context, chunk)
    names = [f"column {j}" for j in range(chunk.X.shape[1])]
    others = {
        "a copy": learner.copy(),
        "a restored state": restore(learner.state(), **context.model),
        "bytes": from_bytes(learner.to_bytes(), **context.model),
        "a pickle": pickle.loads(pickle.dumps(learner)),
    }
    learn_one(learner, _named(chunk.X[NAMED], False), chunk, NAMED)
    for what, other in others.items():
        ensure(other.feature_names_in_.tolist() == names, f"{what} has the names {other.feature_names_in_.tolist()}")
        learn_one(other, _named(chunk.X[NAMED], True), chunk, NAMED)
        context.ensure_identical(other, learner, f"{what}, after a row with its entries in another order")
    _ensure_weights_have_names(context, learner, names)
    for wrong in (["a", *names[1:]], ["z", *names[1:]]):
        if "feature" in (state := learner.state()).coords:
            act = partial(restore, state.assign_coords(feature=wrong), **context.model)
            ensure_raises(act, ValueError, f"a state whose first column is {wrong[0]!r}", "feature")
    _ensure_warns_of_no_names(context, learner.copy(), chunk)
    if merges_by_default(context, learner):
        merged = learner.merge(_learn_unnamed(context, chunk))
        ensure(merged.feature_names_in_.tolist() == names, "a merge with a learner without names forgets the names")


def _ensure_weights_have_names(context: CheckContext, learner: Any, names: list[str]) -> None:
    """The weights of a linear model can be selected by the names of the columns."""
    name, arrays = context.method.state.weights, learner.state()
    if context.variant.model is not LINEAR or name not in arrays or arrays[name].dims[0] != "parameter":
        return
    ensure("parameter" in arrays[name].coords, f"{name} has no names along its rows")
    for column, row in zip(names, arrays[name].values, strict=True):
        ensure(np.array_equal(arrays[name].sel(parameter=column).values, row), f"{name} has another row {column!r}")


# ---------------------------------------------------------------------- states and merges


def needs_single_rows_to_merge(context: CheckContext) -> str:
    """The learners must have `learn_one`, and the method a rule for merging."""
    return needs_single_rows(context) or needs_merge(context)


def _learn(context: CheckContext, names: list[str] | None, learner: Any = None, rows: int = 8) -> Any:
    """A learner of rows whose entries have these names, or none."""
    learner, chunk = learner or context.create(), context.rows(n=rows)
    skip_if_time_varying(context)
    for i, x in enumerate(chunk.X):
        learn_one(learner, dict(zip(names, x.tolist(), strict=True)) if names else x, chunk, i)
    return learner


@check(needs_single_rows)
def state_names_the_columns(context: CheckContext) -> None:
    """A state has the names of columns along features and, only for a linear model, along the weights.

    It has the names of targets along outputs, if there is one entry for each. A state with other names is not restored.
    """
    named, plain = (_learn(context, names).state() for names in (NAMES, None))
    along = {"feature": NAMES} | ({"parameter": NAMES} if context.variant.model is LINEAR else {})
    _ensure_names(named, along)
    for dim in along.keys() & named.coords.keys():
        for wrong in (NAMES[::-1], ["w0", *NAMES[1:]]):
            act = partial(restore, named.assign_coords({dim: wrong}), **context.model)
            ensure_raises(act, ValueError, f"a state with the names {wrong} along {dim}", dim)
    ensure(not plain.coords, f"after rows without names, the state has names along {', '.join(map(str, plain.coords))}")
    chunk = _two_outputs(context)
    if chunk is not None:
        _ensure_names(_learn_outputs(context, chunk).state(), {"output": OUTPUTS, "target": OUTPUTS})


def _ensure_names(state: Any, along: dict[str, list[str]]) -> None:
    """The entries along these dimensions must have these names, and those along others none."""
    for dim in {str(dim) for dim in state.dims} - {"waiting"}:
        ensure(dim.isidentifier(), f"a dimension is called {dim!r}, want an identifier, followed by _2 the second time")
        want = along.get(dim.removesuffix("_2"))
        if want and state.sizes[dim] != len(want):  # a model has one column of weights for all outputs
            want = None
        got = state.coords[dim].values.tolist() if dim in state.coords else None
        ensure(got == want, f"the entries along {dim} have the names {got}, want {want}")


@check(needs_single_rows_to_merge)
def names_decide_what_is_merged(context: CheckContext) -> None:
    """Learners with the same names merge and keep them; merges of learners with other names are refused."""
    rule = context.method.combine.merge
    refusal = rule.refuses(context.create().settings, context.variant.model is LINEAR) if rule else ""
    skip_if(refusal or context.batch_size > 1, refusal or "rows are pending")
    same = merge_or_skip(context, _learn(context, NAMES), _learn(context, NAMES))
    adopted = merge_or_skip(context, _learn(context, None), _learn(context, NAMES))
    for what, learner in (("the same names", same), ("and without names", adopted)):
        got = learner.feature_names_in_.tolist()
        ensure(got == NAMES, f"a merge of learners with {what} has the names {got}, want {NAMES}")
        _learn(context, NAMES, learner, rows=1)
    chunk = _two_outputs(context)
    if chunk is not None:
        both = merge_or_skip(context, _learn_outputs(context, chunk), _learn_outputs(context, chunk))
        got = both.state().coords["target"].values.tolist()
        ensure(got == OUTPUTS, f"a merge of learners whose targets are {OUTPUTS} has the targets {got}")
    for other in (["w0", *NAMES[1:]], [*NAMES[:-1], "y0"], NAMES[::-1]):
        one, wrong = _learn(context, NAMES), _learn(context, other)
        before = one.copy()
        what = f"a merge of learners with the names {NAMES} and {other}"
        ensure_raises(partial(one.merge, wrong), ValueError, what, "names")
        context.ensure_identical(one, before, f"after a merge with a learner of {other} was refused")


# ---------------------------------------------------------------------- targets


def _two_outputs(context: CheckContext) -> Chunk | None:
    """Rows with two targets; None if the method does not accept two numbers."""
    chunk = context.rows(n=NAMED)
    if chunk.y is None or context.method.traits.labels or context.variant.time_varying:
        return None
    first = chunk.y if chunk.y.ndim == 1 else chunk.y[:, 0]
    both = chunk._replace(y=frozen(np.column_stack([first, first[::-1]])))
    return both if context.accepts(both) else None


def _learn_outputs(context: CheckContext, chunk: Chunk, backwards: bool = False) -> Any:
    """A learner of rows with two named targets, every other pair backwards if requested."""
    learner = context.create()
    for i, (x, y) in enumerate(zip(chunk.X, np.asarray(chunk.y).tolist(), strict=True)):
        targets = list(zip(OUTPUTS, y, strict=True))
        learner.learn_one(x, dict(targets[::-1] if backwards and i % 2 else targets))
    return learner


def needs_single_rows_with_numbers(context: CheckContext) -> str:
    """The learners must have `learn_one`, and the method must predict numbers."""
    return needs_single_rows(context) or needs_numbers(context)


@check(needs_single_rows_with_numbers)
def targets_have_names_in_any_order(context: CheckContext) -> None:
    """Named targets in any order give the same state; copies keep the names, and other names are refused."""
    chunk = _two_outputs(context)
    if chunk is None:
        raise NotApplicable("it does not take two numbers as targets")
    learner, mixed = _learn_outputs(context, chunk), _learn_outputs(context, chunk, backwards=True)
    context.ensure_identical(mixed, learner, "targets in another order give another state")
    before, names = learner.copy(), _names_of_outputs(learner.state())
    known = names.get("target")
    ensure(known == OUTPUTS, f"the targets in a state have the names {known}, want {OUTPUTS}")
    others = restore(learner.state(), **context.model), from_bytes(learner.to_bytes(), **context.model)
    for what, other in zip(("a copy", "a restored state", "bytes"), (before, *others), strict=True):
        ensure(_names_of_outputs(other.state()) == names, f"{what} does not keep the names of the outputs")
    if merges_by_default(context, learner):
        merged = learner.copy().merge(context.train(chunk))
        ensure(_names_of_outputs(merged.state()) == names, "a merge with a learner without names forgets the names")
    for wrong in ([OUTPUTS[0], "other"], OUTPUTS[:1]):
        act = partial(learner.learn_one, chunk.X[0], dict.fromkeys(wrong, 1.0))
        ensure_raises(act, ValueError, f"targets with the names {wrong}, where {OUTPUTS} were learned")
        context.ensure_identical(learner, before, f"after targets with the names {wrong} were refused")


def _names_of_outputs(state: Any) -> dict[str, list[str]]:
    """The names along each dimension that has names."""
    return {str(dim): state.coords[dim].values.tolist() for dim in state.coords}
