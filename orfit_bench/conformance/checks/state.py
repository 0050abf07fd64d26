"""The state holds all that decides how a learner goes on, in the arrays that the method declares, and no more."""

from __future__ import annotations

import gc
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np

from orfit_bench.conformance.check import Gap, Violation, check, require, worst
from orfit_bench.conformance.checks.agreement import needs_reference
from orfit_bench.conformance.inspection import arrays_of, host_arrays_of, layout_of
from orfit_bench.conformance.rows import bits
from orfit_bench.conformance.trial import REFERENCE, Trial
from orfit_bench.learners.factory import load, restore

MOMENTS = (0, 1, 10, 20)
PASSES = 30
"""In so many passes over the same rows a leak shows in each, and what Python and NumPy keep for later is full."""


def _goes_on(trial: Trial, move: Any, said: str) -> None:
    chunk = trial.rows()
    for i in MOMENTS:
        stayed = trial.learned(chunk.cut(0, i))
        moved = move(stayed)
        trial.same(moved, stayed, said)
        told, wanted = (trial.learn(learner, chunk.cut(i, 24)) for learner in (moved, stayed))
        trial.same(moved, stayed, f"{said}, {24 - i} rows later")
        require(bits(told) == bits(wanted), f"{said}, its predictions differ")


@check()
def copy_continues_identically(trial: Trial) -> None:
    """A copy is in the same state and, fed the same rows, stays so to the bit."""
    _goes_on(trial, lambda learner: learner.copy(), "a copy")


@check()
def copy_is_independent(trial: Trial) -> None:
    """What a copy learns does not reach the learner that it was taken of, nor the other way round."""
    chunk = trial.rows()
    learner, untouched = trial.learned(chunk.cut(0, 10)), trial.learned(chunk.cut(0, 10))  # no copy: it may share too
    one, other = learner.copy(), learner.copy()
    trial.learn(one, chunk.cut(10, 24))
    trial.same(learner, untouched, "after its copy learned")
    trial.learn(learner, chunk.cut(10, 24))
    trial.same(other, untouched, "after the learner that it was taken of learned")


@check()
def restored_state_continues_identically(trial: Trial) -> None:
    """`restore(state())` is in the same state and, fed the same rows, stays so to the bit."""
    _goes_on(trial, lambda learner: restore(learner.state(), **trial.model), "restored")


@check()
def saved_state_continues_identically(trial: Trial) -> None:
    """What `save` wrote and `load` read is in the same state and, fed the same rows, stays so to the bit."""

    def through_file(learner: Any) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            learner.save(Path(folder, "state.npz"))
            return load(Path(folder, "state.npz"), **trial.model)

    _goes_on(trial, through_file, "saved and loaded")


@check(needs_reference)
def state_moves_between_backends(trial: Trial) -> Gap:
    """A state that is moved to the reference backend, learns there and is moved back goes on as if it had stayed."""
    chunk, gaps = trial.rows(), []
    for i in MOMENTS:
        stayed = trial.learned(chunk.cut(0, i))
        away = restore(stayed.state(), backend=REFERENCE, **trial.model)
        trial.learn(away, chunk.cut(i, 22))
        back = restore(away.state(), backend=trial.backend.name, **trial.model)
        trial.learn(stayed, chunk.cut(i, 22))
        told = [trial.learn(learner, chunk.cut(22, 24)) for learner in (back, stayed)]
        gaps.append(trial.gap(chunk, (back, stayed), (told[0], told[1]), of=f"moved after row {i}:"))
    return worst(gaps)


@check()
def state_matches_declaration(trial: Trial) -> None:
    """The state has the fields that the method declares, in their dimensions and the learner's dtype, all finite."""
    chunk = trial.rows()
    learner = trial.learned(chunk)
    state = learner.state()
    for f in layout_of(learner).fields:
        require(f.name in state, f"the state lacks {f.name!r}")
        a = state[f.name]
        require(a.dtype == trial.dtype, f"{f.name} is of {a.dtype}, want {trial.dtype}")
        require(a.ndim == len(f.dims), f"{f.name} has {a.ndim} dimensions, want {f.dims}")
        require(np.isfinite(a.values).all(), f"{f.name} holds numbers that are not finite")
        warning = trial.method.state.warning and trial.method.state.warning[0] == f.name
        require(not warning or float(a.values) in (0, 1), f"{f.name} is {a.values}, want 0 or 1")


@check()
def rows_are_counted(trial: Trial) -> None:
    """Rows seen, features and steps are counted as they were taken in."""
    chunk = trial.rows()
    learner = trial.learned(chunk)
    got = learner.n_samples_seen_, learner.n_features_in_, learner.state().attrs["t"]
    want = len(chunk.X), chunk.X.shape[1], len(chunk.X) // trial.batch_size
    require(got == want, f"rows seen, features and steps are {got}, want {want}")


@check()
def state_size_is_bounded(trial: Trial) -> None:
    """More rows make the state no larger, except along a dimension that is declared to grow, up to its limit."""
    chunk = trial.rows(n=96)
    learner = trial.learned(chunk.cut(0, 48))
    before, layout = learner.state_bytes, layout_of(learner)
    trial.learn(learner, chunk.cut(48, 96))
    trial.flushed(learner)
    if layout.grows is None:
        require(learner.state_bytes <= before, f"{before} bytes after 48 rows, {learner.state_bytes} after 96")
    elif layout.limit is not None:
        used = layout.count(arrays_of(learner))
        require(used <= layout.limit, f"{used} entries along {layout.grows!r}, the method allows {layout.limit}")


@check(every=False)
def no_memory_outside_state(trial: Trial) -> None:
    """Learning on takes no memory that the state does not account for: less than one number a row."""
    chunk = trial.rows(n=200)
    learner = trial.learned(chunk)
    tracemalloc.start()
    try:
        before = _beside(learner)
        for _ in range(PASSES):  # what is kept is kept in each; caches and free lists fill up in the first ones
            for i in range(0, 200, 10):
                trial.learn(learner, chunk.cut(i, i + 10))
            now = _beside(learner)
            more, before = now - before, now
            if more < 200 * learner.dtype.itemsize:
                return
    finally:
        tracemalloc.stop()
    raise Violation(f"200 rows took {more} bytes beside the state, in every one of {PASSES} passes")


def _beside(learner: Any) -> int:
    """Bytes at present, garbage and free lists cleared, without those of the state."""
    gc.collect()
    return tracemalloc.get_traced_memory()[0] - sum(int(a.nbytes) for a in arrays_of(learner))


def needs_derived_fields(trial: Trial) -> str:
    """The method must declare what follows from other fields."""
    return "" if trial.method.combine.derive else "the method declares no field that follows from others"


@check(needs_derived_fields)
def derived_fields_are_consistent(trial: Trial) -> Gap:
    """Fields that follow from others, which a kernel carries along, are after thousands of rows what they follow to."""
    assert trial.method.combine.derive
    chunk = trial.rows(n=3000)
    learner = trial.learned(chunk)
    fields = {name: np.asarray(a, float) for name, a in host_arrays_of(learner).items()}
    derived = trial.method.combine.derive(fields, learner.settings)
    pairs = [(fields[name], np.asarray(a)) for name, a in derived.items()]
    return trial.gap(chunk, *pairs, of=", ".join(derived))
