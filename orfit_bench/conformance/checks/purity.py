"""What a learner must leave alone: the caller's arrays, its own state while it answers, other learners, generators."""

from __future__ import annotations

import random

import numpy as np

from orfit_bench.conformance.check import check, require
from orfit_bench.conformance.rows import Array, Chunk, bits
from orfit_bench.conformance.trial import Trial


def owned(chunk: Chunk) -> Chunk:
    """Copies of the rows that may be written to."""
    return chunk.map(np.array)


@check()
def inputs_are_not_written_to(trial: Trial) -> None:
    """Learning and predicting leave the caller's arrays as they were, also those that could be written to."""
    chunk = trial.rows()
    given = owned(chunk)
    learner = trial.learned(given)
    trial.ask(learner, given.X)
    for name, now, before in zip(("X", "y", *given.along), _arrays(given), _arrays(chunk), strict=True):
        require(bits(now) == bits(before), f"{name} was changed")


@check()
def inputs_are_not_kept(trial: Trial) -> None:
    """A caller who fills the same buffers anew for every chunk gets what fresh arrays give, to the bit."""
    chunk = trial.rows()
    want, got = trial.create(), trial.create()
    buffer = owned(chunk.cut(0, 6))
    for i in range(0, 24, 6):
        fresh = chunk.cut(i, i + 6)
        trial.learn(want, fresh)
        for old, new in zip(_arrays(buffer), _arrays(fresh), strict=True):
            if old is not None and new is not None:
                old[...] = new
        trial.learn(got, buffer)
    buffer.X[...] = 7.0
    trial.same(got, want, "with a buffer that the caller fills anew")


@check()
def returned_arrays_are_copies(trial: Trial) -> None:
    """Writing to what `state`, `predict` and `prequential` returned changes neither the learner nor later answers."""
    chunk = trial.rows()
    learner, untouched = trial.create(), trial.create()
    for i in range(0, 24, 8):
        part = chunk.cut(i, i + 8)
        trial.learn(untouched, part)
        _spoil(trial.learn_raw(learner, part))
        _spoil(trial.ask_raw(learner, part.X))
        for array in learner.state().variables.values():
            _spoil(array.values)
    trial.same(learner, untouched, "after writing to what was handed out")


@check()
def predicting_changes_nothing(trial: Trial) -> None:
    """Asked twice a learner answers the same, and its state stays as it was, to the bit."""
    chunk = trial.rows()
    learner = trial.learned(chunk.cut(0, 10))
    before = learner.copy()
    first = trial.ask(learner, chunk.X)
    trial.ask(learner, chunk.X[:1])
    require(np.array_equal(trial.ask(learner, chunk.X), first), "the second answer differs from the first")
    trial.same(learner, before, "after predicting")
    rest = chunk.cut(10, 24)
    trial.learn(learner, rest)
    trial.learn(before, rest)
    trial.same(learner, before, "after predicting and learning on")


@check()
def predicts_before_first_row(trial: Trial) -> None:
    """Once the sizes are known, by a chunk of no rows, a learner answers finite numbers and is still at its start."""
    chunk = trial.rows()
    learner, other = trial.begun(chunk), trial.begun(chunk)
    answers = trial.ask(learner, chunk.X)
    require(len(answers) == len(chunk.X), f"{len(answers)} answers to {len(chunk.X)} rows")
    require(np.isfinite(answers).all(), "the answers are not finite")
    trial.same(learner, other, "after predicting before the first row")


@check()
def learners_are_independent(trial: Trial) -> None:
    """Two learners that take turns are each what they are alone, to the bit."""
    chunk = trial.rows()
    turned = Chunk(chunk.X[::-1], None if chunk.y is None else chunk.y[::-1], chunk.along)
    alone = [trial.create() for _ in range(2)]
    beside = [trial.create() for _ in range(2)]
    for learner, stream in zip(alone, (chunk, turned), strict=True):
        for i in range(0, 24, 4):
            trial.learn(learner, stream.cut(i, i + 4))
    for i in range(0, 24, 4):
        for learner, stream in zip(beside, (chunk, turned), strict=True):
            trial.learn(learner, stream.cut(i, i + 4))
    for got, want in zip(beside, alone, strict=True):
        trial.same(got, want, "beside another learner")


@check()
def result_depends_only_on_seed(trial: Trial) -> None:
    """The same seed gives the same state to the bit, and the generators that a process shares have no part in it."""
    chunk = trial.rows()
    numpy_before, python_before = np.random.get_state(), random.getstate()  # noqa: NPY002  # the shared one
    try:
        learners = []
        for seed in (1, 2):
            np.random.seed(seed)  # noqa: NPY002
            random.seed(seed)
            held = np.random.get_state()[1].tobytes(), random.getstate()  # type: ignore[index]  # noqa: NPY002
            learners.append(trial.learned(chunk))
            now = np.random.get_state()[1].tobytes(), random.getstate()  # type: ignore[index]  # noqa: NPY002
            require(now == held, "a generator that the process shares was used up")
        trial.same(learners[1], learners[0], "under another global seed")
    finally:
        np.random.set_state(numpy_before)  # noqa: NPY002
        random.setstate(python_before)


def _arrays(chunk: Chunk) -> list[Array | None]:
    return [chunk.X, chunk.y, *chunk.along.values()]


def _spoil(array: object) -> None:
    flags = getattr(array, "flags", None)
    if (
        array is not None
        and getattr(flags, "writeable", True)
        and getattr(array, "dtype", np.dtype(object)).kind == "f"
    ):
        array[...] = 1e3  # type: ignore[index]
