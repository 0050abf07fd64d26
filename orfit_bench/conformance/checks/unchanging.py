"""Operations after which a learner continues as before."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from orfit_bench.conformance.acceptance import train_with_other_settings
from orfit_bench.conformance.check import ensure, ensure_raises
from orfit_bench.conformance.checks.refusals import needs_targets_of_a_kind, refused_targets
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.rows import FEATURES, Array, Chunk
from orfit_bench.errors import DivergedError
from orfit_bench.learners.restoring import from_bytes, load, restore
from orfit_bench.spec import LINEAR, REFERENCE
from orfit_bench.spec.arrays import dtype_name


def needs(name: str, context: CheckContext) -> str:
    """The reason why an operation is not tried; empty if it is."""
    if name == REFUSED_MERGES:
        return _is_not_merged(context)
    if name == WRONG_TARGETS:
        return needs_targets_of_a_kind(context)
    return context.reference_missing if name == THROUGH_REFERENCE else ""


def _is_not_merged(context: CheckContext) -> str:
    """The reason why merges of differing learners are not tried; empty if they are."""
    if not context.method.combine.merge or context.variant.settings or context.variant.outputs is not None:
        return "only with the default settings of methods that merge"
    return "" if context.variant.model is LINEAR else "a model has its own outputs"


def to_buffer(a: Array, number: int) -> Array:
    """A writable copy: plain, strided, in Fortran order, or in the other byte order."""
    match number % 4:
        case 1:
            buffer = np.zeros((2 * len(a), *a.shape[1:]), a.dtype)[::2]
        case 2:
            buffer = np.zeros(a.shape, a.dtype, "F")
        case 3:
            buffer = np.zeros(a.shape, a.dtype.newbyteorder())
        case _:
            buffer = np.zeros(a.shape, a.dtype)
    buffer[...] = a
    return buffer


def _copy(context: CheckContext, learner: Any, chunk: Chunk) -> Any:
    """A copy; the original then learns something else."""
    copy = learner.copy()
    context.learn(learner, chunk.cut(0, 3))
    return copy


def through_file(context: CheckContext, learner: Any, chunk: Chunk | None = None) -> Any:
    """The learner read from a file to which it was saved."""
    with tempfile.TemporaryDirectory() as folder:
        learner.save(Path(folder, "state.npz"))
        return load(Path(folder, "state.npz"), **context.model)


def _through_reference(context: CheckContext, learner: Any, chunk: Chunk) -> Any:
    moved = restore(learner.state(), backend=REFERENCE, **context.model)
    return restore(moved.state(), backend=context.backend.name, **context.model)


def _restored(context: CheckContext, learner: Any, chunk: Chunk) -> Any:
    """The learner restored from a state whose arrays have the other byte order."""
    state = learner.state()
    for name, array in state.data_vars.items():
        state[name] = (array.dims, array.values.astype(array.dtype.newbyteorder()))
    return restore(state, **context.model)


def _state(context: CheckContext, learner: Any, chunk: Chunk) -> Any:
    """The learner after the caller wrote to its state."""
    state = learner.state()
    for name in state.data_vars if learner.live_state is not None else ():
        same = np.array_equal(learner.array(name), state[name], equal_nan=state[name].dtype.kind in "fc")
        ensure(same, f"array({name!r}) differs from the state's {name}")
    for name, array in state.variables.items():
        ensure(array.dtype.isnative, f"{name} is not in the byte order of this machine")
        if array.dtype.kind in "fc":
            array.values[...] = 7
    return learner


def _refuse(context: CheckContext, learner: Any, chunk: Chunk) -> Any:
    """The learner after rows that it refuses."""
    if context.method.traits.supervised and learner.live_state is not None:
        act = partial(learner.predict, chunk.X[:2], no_such_argument=1)
        ensure_raises(act, TypeError, "predict with an unknown argument", "no_such_argument")
    if learner.live_state is not None and context.supports("blocks"):
        n, why = (1, "pending") if learner.pending else (0, "no rows")
        act = partial(context.step, learner, chunk.cut(0, n))
        ensure_raises(act, ValueError, f"a step of {n} rows while {learner.pending} are pending", why)
    for what, X in _malformed(np.array(chunk.X[:2]), sized=learner.live_state is not None):
        wrong = Chunk(X, None if chunk.y is None else chunk.y[:2], {n: a[:2] for n, a in chunk.time_varying.items()})
        ensure_raises(partial(context.learn, learner, wrong), (TypeError, ValueError), what)
    return learner


def _malformed(X: Array, sized: bool) -> Iterator[tuple[str, Array]]:
    yield "a row of one dimension", X[0]
    yield "masked rows", np.ma.masked_array(X, mask=X.real > 0)
    if sized:
        yield "rows with another column", np.hstack([X, X[:, :1]])
    X = X.copy()
    X[-1, -1] = np.nan
    yield "rows with NaN", X


def _refuse_targets(context: CheckContext, learner: Any, chunk: Chunk) -> Any:
    """The learner after refused targets, of rows and of steps."""
    rows = chunk.cut(0, context.batch_size)
    if learner.pending or learner.live_state is None or context.variant.time_varying:
        return learner
    for wrong in refused_targets(context, rows):
        for learn in [context.learn, context.learn_silently, context.step][: 2 + context.supports("blocks")]:
            ensure_raises(partial(learn, learner, wrong), (TypeError, ValueError), f"targets {wrong.y}")
    return learner


def _refuse_merges(context: CheckContext, learner: Any, chunk: Chunk) -> Any:
    """The learner after refused merges with learners of other sizes or labels, another dtype or other settings."""
    if learner.live_state is None or learner.pending:
        return learner
    rows, pairs = chunk.cut(0, context.batch_size), []
    if rows.y is not None and context.method.traits.numbers:
        two, three = (context.train(rows._replace(y=np.column_stack([rows.y] * columns))) for columns in (2, 3))
        pairs += [(learner, two), (two, three), (three, two)]
        if rows.y.ndim == 1:
            column = context.train(rows._replace(y=rows.y[:, None]))
            pairs += [(learner, column), (column, learner)]
    if context.method.traits.labels:
        texts, numbers = context.train(rows), context.train(rows._replace(y=np.arange(len(rows.X))))
        pairs += [(texts, numbers), (numbers, texts)]
    wide = context.train(context.rows(n=context.batch_size, d=FEATURES + 1))
    pairs += [(learner, wide), (wide, learner)]
    if context.dtype == "float64" and context.supports("float32"):
        pairs.append((learner, context.train(rows.numbers(lambda a: a.astype("float32")), dtype="float32")))
    if (other := train_with_other_settings(context, rows)) is not None:
        pairs.append((learner, other))
    for one, other in pairs:
        what = "a merge with a learner of other features, outputs or labels, another dtype or other settings"
        ensure_raises(partial(one.merge, other), (TypeError, ValueError), what, "differ")
    return learner


def _no_rows(context: CheckContext, learner: Any, chunk: Chunk) -> Any:
    known, before = learner.live_state is not None, learner.to_bytes()
    context.learn(learner, chunk.cut(0, 0))
    ensure(not known or learner.to_bytes() == before, "an empty chunk changed the learner")
    return learner


def _too_large(context: CheckContext, learner: Any, chunk: Chunk) -> Any:
    """The learner after its copy was given rows that are too large: a single row, or enough to fill a batch."""
    copy, before, rows = learner.copy(), learner.to_bytes(), chunk.cut(0, context.batch_size - learner.pending)
    largest = rows.numbers(lambda a: np.where(a == 0, 0, np.finfo(a.dtype).max).astype(a.dtype))
    try:
        with np.errstate(all="ignore"):
            context.learn(copy, rows._replace(X=largest.X))
    except DivergedError as error:
        if not (learner.pending or learner.live_state is None):
            ensure(copy.to_bytes() == before, "a refused row changed the learner")
            next_step = learner.state().attrs["t"] + 1
            ensure(error.step == next_step, f"step {next_step} was refused, the error says step {error.step}")
            ensure(error.row == 0, f"the first row was refused, the error says row {error.row}")
        ensure(copy.pending == 0, f"{copy.pending} rows are pending after their step was refused")
    return learner


def _predict(context: CheckContext, learner: Any, chunk: Chunk) -> Any:
    """The learner after predictions, to which the caller then writes."""
    if learner.live_state is None or context.variant.time_varying:
        return learner
    for n in (0, 1, 3):
        predictions = context.predict_raw(learner, chunk.X[:n])
        ensure(predictions.shape[0] == n, f"{predictions.shape[0]} predictions for {n} rows")
        ensure(dtype_name(predictions) == learner.dtype.name, f"predictions are of {dtype_name(predictions)}")
        predictions[...] = 7
    return learner


THROUGH_REFERENCE = "reference and back"
WRONG_TARGETS = "refused targets"
REFUSED_MERGES = "refused merges"
UNCHANGED: dict[str, Callable[[CheckContext, Any, Chunk], Any]] = {
    "copy": _copy,
    "file": through_file,
    "bytes": lambda context, learner, chunk: from_bytes(learner.to_bytes(), **context.model),
    "restore": _restored,
    THROUGH_REFERENCE: _through_reference,
    "state": _state,
    "refused rows": _refuse,
    WRONG_TARGETS: _refuse_targets,
    REFUSED_MERGES: _refuse_merges,
    "no rows": _no_rows,
    "too large a row": _too_large,
    "predict": _predict,
}
"""The operations on a context, a learner and some rows; each returns the learner that continues."""
