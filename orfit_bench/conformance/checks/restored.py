"""Corrupted states, random starts, and the information before the first row."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from orfit_bench.conformance.check import Deviation, check, ensure, ensure_raises, skip_if
from orfit_bench.conformance.checks.agreement import needs_inverse_gram, skip_if_not_linear
from orfit_bench.conformance.checks.equivariance import needs_linear_model
from orfit_bench.conformance.checks.forged_states import IMPOSSIBLE_VERSIONS, with_waiting_rows
from orfit_bench.conformance.checks.saved_files import read_members
from orfit_bench.conformance.checks.unchanging import to_buffer
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import host_arrays_of, layout_of, numbers_outside
from orfit_bench.learners.restoring import load, restore
from orfit_bench.spec import LINEAR, Diagonal
from orfit_bench.state.serialization import RENAMED

SEEDS = 10
"""Seeds to try: random steps cannot be the same with all of them."""


@check(all_variants=False)
def spoiled_states_are_refused(context: CheckContext) -> None:
    """States with a missing, unknown or corrupted array, impossible count or setting raise TypeError or ValueError."""
    learner = context.train(context.rows())
    arrays, entries = _spoiled_arrays(context, learner), _impossible_entries(context, learner)
    spoiled = {what: change(learner.state()) for what, change in arrays.items()}
    spoiled |= {what: _with_entries(learner.state(), **own) for what, own in entries.items()}
    for what, state in spoiled.items():
        ensure_raises(partial(restore, state, **context.model), (TypeError, ValueError), f"a state with {what}")
    if (waiting := with_waiting_rows(context)) is not None:
        act = partial(restore, _with_entries(waiting.state(), n_samples_seen=1), **context.model)
        ensure_raises(act, ValueError, f"a state with {waiting.pending} pending rows, of one that was seen", "pending")


def _with_entries(state: Any, **entries: Any) -> Any:
    """The state with other entries in its header."""
    state.attrs["orfit_bench"] = json.dumps(json.loads(state.attrs["orfit_bench"]) | entries)
    return state


def _spoiled_arrays(context: CheckContext, learner: Any) -> dict[str, Callable[[Any], Any]]:
    """Functions that corrupt the arrays of a state, by description."""
    name = layout_of(learner).fields[0].name

    def with_nan(state: Any) -> Any:
        state[name].values.flat[:1] = np.nan
        return state

    B, waiting = context.batch_size, learner.state()
    widths = {n: waiting[n].shape[1] for n in ("pending_X", "pending_y")}
    found = {
        f"NaN in {name}": with_nan,
        f"no {name}": lambda state: state.drop_vars(name),
        "an unknown array": lambda state: state.assign(no_such_field=state[name].rename({})),
        f"{name} of another shape": lambda state: state.assign({name: ("other", np.zeros(99))}),
        f"{name} of integers": lambda state: state.assign({name: (state[name].dims, np.zeros(state[name].shape, int))}),
        f"{B} pending rows for a batch of {B}": lambda state: state.drop_dims("waiting").assign(
            {n: (("waiting", f"column of {n}"), np.zeros((B, width), learner.dtype)) for n, width in widths.items()}
        ),
    }
    if (mark := context.method.state.warning and context.method.state.warning.field) and mark in learner.state():
        found[f"{mark} of 2"] = lambda state: state.assign({mark: state[mark] * 0 + 2})
    return found


def _impossible_entries(context: CheckContext, learner: Any) -> dict[str, dict[str, Any]]:
    """Entries that the header of a state cannot have, by description."""
    head = json.loads(learner.state().attrs["orfit_bench"])
    found: dict[str, dict[str, Any]] = {f"{value!r} steps": {"t": value} for value in (-1, 1.5, True, "3", 2**63)}
    found["a number of features of another size"] = {"n_features": learner.n_features_in_ + 1}
    if head["n_outputs"] > 1:
        found["y of one dimension with several outputs"] = {"y_is_vector": True}
    found |= {f"version {version!r}": {"spec_version": version} for version in IMPOSSIBLE_VERSIONS}
    names = [f"x{i}" for i in range(learner.n_features_in_)]
    wrong = {
        "too few": names[1:],
        "too many": [*names, "y"],
        "equal": [*names[1:], names[1]],
        "repeated": [*names, names[0]],
    }
    for what, given in wrong.items():
        found[f"names of features that are {what}"] = {"feature_names": given}
    if context.method.traits.labels:
        labels = head["classes"]
        found["labels of two types"] = {"classes": [*labels[:-1], 7]}
        found["a label that occurs twice"] = {"classes": [*labels[:-1], labels[0]]}
        found["a label too few"] = {"classes": labels[:-1]}
        found["labels that are not integers"] = {"classes": [i + 0.5 for i in range(len(labels))]}
    settings = json.loads(learner.state().attrs["settings"])
    for setting in context.method.settings:
        if setting.type.kind in ("number", "schedule"):
            found[f"{setting.name} of NaN"] = {"settings": {**settings, setting.name: float("nan")}}
        for number in numbers_outside(setting.type):
            found[f"{setting.name} of {number}"] = {"settings": {**settings, setting.name: number}}
    return found


@check(all_variants=False)
def states_of_any_layout_are_restored(context: CheckContext) -> None:
    """A state of Fortran-ordered, strided or byte-swapped arrays is restored; one of another dtype is refused."""
    learner = context.train(context.rows())
    for number in range(4):
        state = learner.state()
        for name, array in state.data_vars.items():
            if array.ndim:
                state[name] = (array.dims, to_buffer(array.values, number))
        context.ensure_identical(restore(state, **context.model), learner, f"restored from layout {number}")
    _ensure_read_in_fortran_order(context, learner)
    state = learner.state()
    head = json.loads(state.attrs["orfit_bench"])
    del head["spec_version"]
    state.attrs["orfit_bench"] = json.dumps(head)
    context.ensure_identical(restore(state, **context.model), learner, "restored without a version")
    state = learner.state().rename({now: before for before, now in RENAMED.items() if now in learner.state()})
    earlier = restore(_with_entries(state, format=1), **context.model)
    context.ensure_identical(earlier, learner, "restored from a state of format 1")
    name = layout_of(learner).fields[0].name
    state = learner.state()
    state[name] = (state[name].dims, np.zeros(state[name].shape, "float16"))
    ensure_raises(lambda: restore(state, **context.model), ValueError, f"a state with {name} of half precision", name)


def _ensure_read_in_fortran_order(context: CheckContext, learner: Any) -> None:
    """A file whose arrays are in Fortran order has the same learner."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "state.npz")
        learner.save(path)
        members = read_members(path.read_bytes())
        np.savez(path, allow_pickle=False, **{name: a.copy("F") for name, a in members.items()})
        context.ensure_identical(load(path, **context.model), learner, "read from arrays in Fortran order")


@check(needs_linear_model)
def starts_are_drawn_with_the_seed(context: CheckContext) -> None:
    """Fields that start with random numbers take them from a Philox generator whose key is the seed."""
    skip_if(context.variant.model is not LINEAR, "the model draws its weights, too")
    seed = context.seed + 1
    learner = context.train(context.rows().cut(0, 0), random_state=seed)
    layout, found = layout_of(learner), host_arrays_of(learner)
    draw = np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, 0, 0])).standard_normal
    for f in layout.fields:
        start = f.start(learner.settings, layout.sizes, draw) if f.start else None
        if start is not None and not isinstance(start, Diagonal):
            want = np.asarray(start, found[f.name].dtype)
            ensure(np.array_equal(found[f.name], want), f"the start of {f.name} is not drawn with the seed {seed}")


@check(needs_linear_model)
def seed_decides_where_numbers_are_drawn(context: CheckContext) -> None:
    """Another seed gives another result if the start or the steps are random, and the same result otherwise."""
    skip_if(context.variant.model is not LINEAR, "the model draws its weights, too")
    chunk = context.rows()
    learner = context.initialize(chunk)
    starts, draws = _draws_at_the_start(learner), bool(context.method.kernel.draws(learner.settings))
    one, *others = (
        host_arrays_of(context.train(chunk, random_state=context.seed + i)) for i in range(SEEDS if draws else 2)
    )
    differ = any(not np.array_equal(one[name], other[name]) for other in others for name in one)
    drawn = "start is" if starts else "steps are"
    ensure(differ or not (starts or draws), f"the {drawn} drawn, but another seed gives the same result")
    ensure(starts or draws or not differ, "nothing is drawn, but another seed gives another result")


def _draws_at_the_start(learner: Any) -> bool:
    """Whether a field of a learner starts with random numbers."""
    calls, layout = [], layout_of(learner)

    def draw(size: Any) -> Any:
        calls.append(size)
        return np.random.default_rng(0).standard_normal(size)

    for f in layout.fields:
        if f.start:
            f.start(learner.settings, layout.sizes, draw)
    return bool(calls)


@check(needs_inverse_gram)
def starts_with_the_declared_information(context: CheckContext) -> Deviation:
    """Before the first row, the inverse Gram matrix is the declared one for no rows."""
    skip_if_not_linear(context)
    assert context.method.theory.inverse_gram
    name, rows = context.method.theory.inverse_gram
    learner, chunk = context.initialize(context.rows(d=6)), context.rows(d=6)
    A = rows(np.zeros((0, 6)), learner.settings)
    skip_if(A is None or name not in learner.state(), "the declaration does not cover these settings")
    gram = np.asarray(A).conj().T @ np.asarray(A)
    product = np.asarray(learner.array(name)) @ gram
    return context.compare(chunk, (product, np.eye(6)), of=f"{name} times the declared matrix")
