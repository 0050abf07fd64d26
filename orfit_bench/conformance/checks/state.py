"""The state determines all later results, in the arrays that the method declares; nothing is stored elsewhere."""

from __future__ import annotations

import gc
import pickle
import tracemalloc
from functools import partial
from typing import Any

import numpy as np

from orfit_bench.conformance.check import Deviation, Violation, check, ensure, worst
from orfit_bench.conformance.checks.agreement import needs_reference
from orfit_bench.conformance.checks.invalid_input import start_of_shape
from orfit_bench.conformance.checks.roles import signs_of_components
from orfit_bench.conformance.checks.unchanging import through_file
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import arrays_of, bytes_of, host_arrays_of, layout_of
from orfit_bench.conformance.rows import FEATURES, bits
from orfit_bench.conformance.variants import smallest_counts
from orfit_bench.learners.restoring import from_bytes, restore
from orfit_bench.spec import REFERENCE
from orfit_bench.spec.law import to_numpy64

MOMENTS = (0, 1, 10, 20)
OUTSIDE = "whatever the kernel needs later must be a field of the state"
PASSES = 30
"""Number of passes over the same rows: a leak shows in each, while caches of Python and NumPy fill in the first."""


def _ensure_continues(context: CheckContext, move: Any, message: str) -> None:
    chunk, new = context.rows(), context.create()
    context.ensure_identical(move(new), new, f"{message}, before the first call")
    for i in MOMENTS:
        stayed = context.train(chunk.cut(0, i))
        moved = move(stayed)
        context.ensure_identical(moved, stayed, message)
        sizes = moved.state_bytes, stayed.state_bytes
        ensure(sizes[0] == sizes[1], f"{message}, it has {sizes[0]} bytes of state, want {sizes[1]}")
        predictions, expected = (context.learn(learner, chunk.cut(i, 24)) for learner in (moved, stayed))
        context.ensure_identical(moved, stayed, f"{message}, {24 - i} rows later")
        ensure(bits(predictions) == bits(expected), f"{message}, its predictions differ")
        if (waiting := context.train(chunk.cut(0, i))).pending and context.supports("blocks"):
            moved = move(waiting)
            context.ensure_identical(moved.flush(), waiting.flush(), f"{message} and flushed")
    if not context.variant.settings:
        narrow = context.with_settings(**smallest_counts(context.method))
        if not narrow.lacking:
            one = narrow.train(narrow.rows(n=2, d=1))
            narrow.ensure_identical(move(one), one, f"{message}, with one feature")
        outputs = () if chunk.y is None else chunk.y.shape[1:]
        for weight in (0.0, 0.125):  # in turn, so that none gets the start of the previous learner
            if (started := start_of_shape(context, (FEATURES, *outputs), weight)) is not None:
                context.learn_silently(started, chunk.cut(0, 0))
                context.ensure_identical(move(started), started, f"{message}, with other initial weights")


@check(numbers="any")
def copy_continues_identically(context: CheckContext) -> None:
    """A copy has the same state, also after further rows, bit by bit."""
    _ensure_continues(context, lambda learner: learner.copy(), f"a copy ({OUTSIDE})")


@check()
def copy_is_independent(context: CheckContext) -> None:
    """Rows that a copy learns do not change the original, and vice versa."""
    chunk = context.rows()
    learner, untouched = context.train(chunk.cut(0, 10)), context.train(chunk.cut(0, 10))  # a copy could share
    one, other = learner.copy(), learner.copy()
    context.learn(one, chunk.cut(10, 24))
    context.ensure_identical(learner, untouched, "after its copy learned, the original")
    context.learn(learner, chunk.cut(10, 24))
    context.ensure_identical(other, untouched, "after the original learned, the copy")


@check(numbers="any")
def restored_state_continues_identically(context: CheckContext) -> None:
    """A learner from `restore(state())` has the same state, also after further rows, bit by bit."""
    _ensure_continues(context, lambda learner: restore(learner.state(), **context.model), "restored")


@check(numbers="any")
def saved_state_continues_identically(context: CheckContext) -> None:
    """A learner from `save` and `load` has the same state, also after further rows, bit by bit."""
    _ensure_continues(context, partial(through_file, context), "saved and loaded")


@check(numbers="any")
def bytes_continue_identically(context: CheckContext) -> None:
    """A learner from `to_bytes` and `from_bytes` has the same state, also after further rows, bit by bit."""
    _ensure_continues(context, lambda learner: from_bytes(learner.to_bytes(), **context.model), "read from bytes")


@check(numbers="any")
def pickle_continues_identically(context: CheckContext) -> None:
    """A learner from a pickle has the same state, also after further rows, bit by bit."""
    _ensure_continues(context, lambda learner: pickle.loads(pickle.dumps(learner)), "read from a pickle")


@check(needs_reference, numbers="any")
def state_moves_between_backends(context: CheckContext) -> Deviation:
    """A state that was moved to the reference backend and back, and learned there, equals one that was not moved."""
    chunk, deviations = context.rows(), []
    for i in MOMENTS:
        stayed = context.train(chunk.cut(0, i))
        away = restore(stayed.state(), backend=REFERENCE, **context.model)
        context.learn(away, chunk.cut(i, 22))
        back = restore(away.state(), backend=context.backend.name, **context.model)
        context.learn(stayed, chunk.cut(i, 22))
        predictions = [context.learn(learner, chunk.cut(22, 24)) for learner in (back, stayed)]
        deviations.append(
            context.compare(chunk, (back, stayed), (predictions[0], predictions[1]), of=f"moved after row {i}:")
        )
    return worst(deviations)


@check(numbers="any")
def state_matches_declaration(context: CheckContext) -> None:
    """The state has the declared fields with their dimensions, in the dtype of the learner, all finite."""
    chunk = context.rows()
    learner = context.train(chunk)
    state, layout = learner.state(), layout_of(learner)
    if layout.grows:
        count = layout.count(arrays_of(learner))
        ensure(state.sizes[layout.grows] == count, f"{count} entries are counted, {state.sizes[layout.grows]} are kept")
    if not context.method.traits.supervised:
        signs = signs_of_components(learner)
        ensure((signs >= 0).all(), f"the signs of components_ relative to the basis are {signs}, want 1")
    names = [*(f.name for f in layout.fields), "pending_X", "pending_y"]
    held = sum(state[name].nbytes for name in names)
    ensure(learner.state_bytes == held, f"state_bytes is {learner.state_bytes}, the arrays have {held} bytes")
    for f in layout.fields:
        ensure(f.name in state, f"the state lacks {f.name!r}")
        a = state[f.name]
        ensure(a.dtype == context.dtype, f"{f.name} is of {a.dtype}, want {context.dtype}")
        name = a.attrs.get("long_name")
        ensure(name == f.meaning, f"{f.name} has the long_name {name!r}, want its meaning {f.meaning!r}")
        ensure(learner.array(f.name).tobytes() == a.values.tobytes(), f"array({f.name!r}) is not the state's {f.name}")
        named = all(got in (want, f"{want}_2") for got, want in zip(a.dims, f.dims, strict=False))
        ensure(named and a.ndim == len(f.dims), f"{f.name} has the dimensions {a.dims}, want {f.dims}")
        ensure(np.isfinite(a.values).all(), f"{f.name} is not finite")
        warning = context.method.state.warning and context.method.state.warning.field == f.name
        ensure(not warning or a.values in (0, 1), f"{f.name} is {a.values}, want 0 or 1")


@check(numbers="any")
def rows_are_counted(context: CheckContext) -> None:
    """Rows, features and steps are counted correctly, and are zero before the first row."""
    new = context.create().state().attrs
    ensure(
        new["t"] == new["n_samples_seen"] == 0,
        f"a new learner counts {new['t']} steps and {new['n_samples_seen']} rows",
    )
    chunk = context.rows()
    learner = context.train(chunk)
    got = learner.n_samples_seen_, learner.n_features_in_, learner.state().attrs["t"]
    want = len(chunk.X), chunk.X.shape[1], len(chunk.X) // context.batch_size
    ensure(got == want, f"rows seen, features and steps are {got}, want {want}")


@check()
def state_size_is_bounded(context: CheckContext) -> None:
    """The state does not grow with the rows, except along a dimension that is declared to grow, up to its limit."""
    chunk = context.rows(n=96)
    learner = context.train(chunk.cut(0, 48))
    before, layout = learner.state_bytes, layout_of(learner)
    context.learn(learner, chunk.cut(48, 96))
    context.flush(learner)
    if layout.grows is None:
        ensure(learner.state_bytes <= before, f"{before} bytes after 48 rows, {learner.state_bytes} after 96")
    elif layout.limit is not None:
        used = layout.count(arrays_of(learner))
        ensure(used <= layout.limit, f"{used} entries along {layout.grows!r}, the method allows {layout.limit}")


@check(all_variants=False)
def no_memory_outside_state(context: CheckContext) -> None:
    """Learning keeps no memory outside the state: less than one number per row."""
    chunk = context.rows(n=200)
    learner = context.train(chunk)
    tracemalloc.start()
    try:
        before = _memory_outside_state(learner)
        for _ in range(PASSES):  # a leak shows in every pass, caches fill up in the first ones
            for i in range(0, 200, 10):
                context.learn(learner, chunk.cut(i, i + 10))
            now = _memory_outside_state(learner)
            more, before = now - before, now
            if more < 200 * learner.dtype.itemsize:
                return
    finally:
        tracemalloc.stop()
    raise Violation(f"200 rows took {more} bytes outside the state, in each of {PASSES} passes")


def _memory_outside_state(learner: Any) -> int:
    """Number of bytes allocated now, without garbage and the arrays of the state."""
    gc.collect()
    return tracemalloc.get_traced_memory()[0] - bytes_of(arrays_of(learner))


def needs_derived_fields(context: CheckContext) -> str:
    """The method must declare fields that are derived from others."""
    return "" if context.method.combine.derive else "the method declares no derived field"


@check(needs_derived_fields, numbers="any")
def derived_fields_are_consistent(context: CheckContext) -> Deviation:
    """After thousands of rows, the derived fields that a kernel updates equal those computed from the other fields."""
    assert context.method.combine.derive
    chunk = context.rows(n=3000)
    learner = context.train(chunk)
    fields = {name: to_numpy64(a) for name, a in host_arrays_of(learner).items()}
    derived = context.method.combine.derive(fields, learner.settings)
    pairs = [(fields[name], np.asarray(a)) for name, a in derived.items()]
    return context.compare(chunk, *pairs, of=", ".join(derived))
