"""Side effects on the caller's arrays, on the state while predicting, on other learners and on global generators."""

from __future__ import annotations

import random
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import numpy as np

from orfit_bench.conformance.acceptance import rows_until_refusal
from orfit_bench.conformance.check import check, ensure
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.rows import Array, Chunk, bits
from orfit_bench.spec.arrays import dtype_name


def writeable(chunk: Chunk) -> Chunk:
    """Writable copies of the rows."""
    return chunk.map(np.array)


@check()
def inputs_are_not_written_to(context: CheckContext) -> None:
    """Learning and predicting do not change the arrays of the caller."""
    chunk = context.rows()
    given = writeable(chunk)
    learner = context.train(given)
    context.predict(learner, given.X)
    for name, now, before in zip(("X", "y", *given.time_varying), _arrays(given), _arrays(chunk), strict=True):
        ensure(bits(now) == bits(before), f"{name} was changed")


@check(all_variants=False)
def prints_nothing(context: CheckContext) -> None:
    """Learning and predicting print nothing."""
    chunk = context.rows()
    with redirect_stdout(StringIO()) as out, redirect_stderr(out):
        context.predict(context.train(chunk), chunk.X)
    lines = out.getvalue().splitlines()
    ensure(not lines, f"{len(lines)} lines were printed for {len(chunk.X)} rows, the first: {''.join(lines[:1])!r}")


@check()
def inputs_are_not_kept(context: CheckContext) -> None:
    """Reusing the same buffers for every chunk gives the same state as new arrays, bit by bit."""
    chunk = context.rows()
    want, got = context.create(), context.create()
    buffer = writeable(chunk.cut(0, 5))
    for i in range(0, 20, 5):  # rows of an incomplete batch are pending between the calls
        fresh = chunk.cut(i, i + 5)
        context.learn(want, fresh)
        for old, new in zip(_arrays(buffer), _arrays(fresh), strict=True):
            if old is not None and new is not None:
                old[...] = new
        context.learn(got, buffer)
    buffer.X[...] = 7.0
    context.ensure_identical(got, want, "with buffers that the caller reuses")


@check()
def returned_arrays_are_copies(context: CheckContext) -> None:
    """Writing to the arrays returned by `state`, `predict` and `prequential` does not change the learner."""
    chunk = context.rows()
    learner, untouched = context.create(), context.create()
    for i in range(0, 24, 8):
        part = chunk.cut(i, i + 8)
        context.learn(untouched, part)
        _overwrite(context.learn_raw(learner, part))
        _overwrite(context.predict_raw(learner, part.X))
        for array in learner.state().variables.values():
            _overwrite(array.values)
    context.ensure_identical(learner, untouched, "after writing to returned arrays")


@check()
def predicting_changes_nothing(context: CheckContext) -> None:
    """Predicting twice gives the same result and does not change the state, bit by bit."""
    chunk = context.rows()
    learner = context.train(chunk.cut(0, 10))
    before = learner.copy()
    first = context.predict(learner, chunk.X)
    context.predict(learner, chunk.X[:1])
    ensure(np.array_equal(context.predict(learner, chunk.X), first), "the second prediction differs from the first")
    context.ensure_identical(learner, before, "after predicting")
    rest = chunk.cut(10, 24)
    context.learn(learner, rest)
    context.learn(before, rest)
    context.ensure_identical(learner, before, "after predicting and learning more rows")


@check()
def predicts_before_first_row(context: CheckContext) -> None:
    """After an empty chunk, a learner predicts finite numbers, which does not change its state."""
    chunk = context.rows()
    learner, other = context.initialize(chunk), context.initialize(chunk)
    predictions = context.predict(learner, chunk.X)
    ensure(len(predictions) == len(chunk.X), f"{len(predictions)} predictions for {len(chunk.X)} rows")
    ensure(np.isfinite(predictions).all(), "predictions are not finite")
    context.ensure_identical(learner, other, "after predicting before the first row")


@check()
def learners_are_independent(context: CheckContext) -> None:
    """Two learners that are used alternately have the same states as if used one after the other, bit by bit."""
    chunk = context.rows()
    backward = chunk.map(lambda a: a[::-1])  # these can be refused, since nothing is guaranteed for this order
    alone = [context.create() for _ in range(2)]
    alternating = [context.create() for _ in range(2)]
    for learner, stream in zip(alone, (chunk, backward), strict=True):
        for i in range(0, 24, 4):
            rows_until_refusal(context, learner, stream.cut(i, i + 4))
    for i in range(0, 24, 4):
        for learner, stream in zip(alternating, (chunk, backward), strict=True):
            rows_until_refusal(context, learner, stream.cut(i, i + 4))
    for got, want in zip(alternating, alone, strict=True):
        context.ensure_identical(got, want, "used alternately with another learner")


@check()
def result_depends_only_on_seed(context: CheckContext) -> None:
    """The same seed gives the same state, bit by bit; global random generators are neither used nor changed."""
    chunk = context.rows()
    numpy_before, python_before = np.random.get_state(), random.getstate()  # noqa: NPY002
    try:
        learners = []
        for seed in (1, 2):
            np.random.seed(seed)  # noqa: NPY002
            random.seed(seed)
            state = np.random.get_state()[1].tobytes(), random.getstate()  # type: ignore[index]  # noqa: NPY002
            learners.append(context.train(chunk))
            context.train(chunk.cut(0, len(chunk.X) // 2))
            now = np.random.get_state()[1].tobytes(), random.getstate()  # type: ignore[index]  # noqa: NPY002
            ensure(now == state, "a global random generator was used")
        context.ensure_identical(
            learners[1],
            learners[0],
            "the same rows and seed gave another state: the kernel draws random numbers itself, or keeps numbers "
            "outside the state (in a global variable or an attribute)",
        )
    finally:
        np.random.set_state(numpy_before)  # noqa: NPY002
        random.setstate(python_before)


def _arrays(chunk: Chunk) -> list[Array | None]:
    return [chunk.X, chunk.y, *chunk.time_varying.values()]


def _overwrite(array: object) -> None:
    flags = getattr(array, "flags", None)
    if (
        array is not None
        and getattr(flags, "writeable", True)
        and hasattr(array, "dtype")
        and dtype_name(array).startswith("float")
    ):
        array[...] = 1e3  # type: ignore[index]
