"""The precision in which a kernel computes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from orfit_bench.conformance.check import Deviation, Note, check, ensure, worst
from orfit_bench.conformance.checks.costs import needs_numpy_arithmetic
from orfit_bench.conformance.comparison import comparable_state, max_deviation
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.counting import share_in_double
from orfit_bench.conformance.inspection import arrays_of, host_arrays_of, state_of
from orfit_bench.conformance.tolerance import perturbation_size
from orfit_bench.spec.arrays import dtype_name
from orfit_bench.state.state import LearnerState

STEPS, WIDE = 12, 40
"""Numbers of steps and features for checks of single steps."""
COARSE = 2.0**-6
"""A relative change that is larger than the rounding of any format of floating-point numbers."""
ENOUGH = 100
"""Number of values that two computations are unlikely to round equally by chance."""


def needs_float32(context: CheckContext) -> str:
    """The kernel must support float32."""
    return "" if context.supports("float32") else "its kernel does not support float32"


def needs_float32_learner(context: CheckContext) -> str:
    """The learner must be in float32."""
    return "" if context.dtype == "float32" else "the learner is in float64"


@check(needs_float32)
def dtype_is_preserved(context: CheckContext) -> None:
    """State and predictions have the dtype of the learner, regardless of the dtype of the rows."""
    chunk = context.rows()
    wide = chunk.numbers(lambda a: a.astype(float))
    learner = context.create()
    for part in (wide.cut(0, 0), wide.cut(0, 1), wide.cut(1, 24)):
        predictions = {"prequential": context.learn(learner, part), "predict": context.predict(learner, part.X)}
        for name, array in (predictions | arrays_of(learner)._asdict()).items():
            dtype = dtype_name(array) if hasattr(array, "dtype") else learner.dtype.name
            ensure(name == "count" or dtype == learner.dtype.name, f"{name} is of {dtype}, want {learner.dtype}")
            native = getattr(getattr(array, "dtype", None), "isnative", True)
            ensure(native, f"{name} is of {getattr(array, 'dtype', '')}, want the byte order of this machine")


@check(needs_float32_learner)
def float32_is_close_to_float64(context: CheckContext) -> Deviation:
    """In float32, the state and the predictions equal those in float64 up to float32 rounding."""
    found = _deviation_of_precisions(context)
    # some rows count as dependent only in float32, but not those of another seed too
    return found if found.holds else _deviation_of_precisions(replace(context, seed=context.seed + 1))


def _deviation_of_precisions(context: CheckContext) -> Deviation:
    """The deviation of a learner in float32 from one in float64."""
    chunk = context.rows()
    single, double = context.create(), context.create(dtype="float64")
    predictions = context.learn(single, chunk), context.learn(double, chunk)
    return context.compare(chunk, (single, double), predictions)


@check(needs_float32_learner, all_variants=False)
def float32_is_computed_in_float32(context: CheckContext) -> Note | None:
    """Single steps in float32 have rounding errors: they are not computed in float64 and rounded at the end."""
    B, changed, equal = context.batch_size, 0, 0
    chunk = context.rows(n=STEPS * B, d=WIDE)
    learner = context.train(chunk.cut(0, B))
    double = context.create(dtype="float64")
    for i in range(B, STEPS * B, B):
        before = host_arrays_of(learner)
        double.live_state = _in_double(double, state_of(learner), before)
        for one in (learner, double):
            context.learn(one, chunk.cut(i, i + B))
        exact = host_arrays_of(double)
        for name, array in host_arrays_of(learner).items():
            if array.shape == before[name].shape == exact[name].shape:
                moved = array != before[name]
                changed += int(moved.sum())
                equal += int((array == exact[name].astype(array.dtype))[moved].sum())
    if changed < ENOUGH:
        return Note(f"only {changed} numbers changed, too few to decide")
    if equal == changed and not needs_numpy_arithmetic(context) and share_in_double(context, WIDE) < 0.5:
        return Note("each number is the result of one operation, which is rounded once in either precision")
    ensure(
        equal < changed,
        f"all {changed} numbers that changed are those of a step in float64, rounded at the end: "
        "compute in the dtype of s, for example by p.step_size.astype(s.w.dtype)",
    )
    return None


@check(needs_float32_learner, all_variants=False)
def single_steps_in_float32_are_rounded_only(context: CheckContext) -> Deviation:
    """A step in float32 differs from one in float64, from the same state, only by rounding."""
    B, found = context.batch_size, []
    chunk = context.rows(n=STEPS * B)
    learner, double = context.train(chunk.cut(0, B)), context.create(dtype="float64")
    for i in range(B, STEPS * B, B):
        double.live_state = _in_double(double, state_of(learner), host_arrays_of(learner))
        for one in (learner, double):
            context.learn(one, chunk.cut(i, i + B))
        found.append(context.compare(chunk, (learner, double), of=f"step {i // B}:"))
    return worst(found)


def needs_float32_arithmetic(context: CheckContext) -> str:
    """The learner must be in float32, and its kernel compute with NumPy's functions."""
    return needs_float32_learner(context) or needs_numpy_arithmetic(context)


@check(needs_float32_arithmetic, all_variants=False)
def operations_are_in_float32(context: CheckContext) -> None:
    """Most operations of a learner in float32 have results in float32."""
    share = share_in_double(context, WIDE)
    ensure(share < 0.5, f"{share:.0%} of the operations have results in float64")


def _in_double(learner: Any, state: LearnerState, fields: dict[str, Any]) -> LearnerState:
    """The state of a float32 learner as that of one in float64."""
    rule = learner.rule
    arrays = rule.layout(state.sizes).start(fields)
    return replace(state, arrays=arrays, pending=rule.no_rows(state.sizes))


@check(all_variants=False, numbers="any")
def full_precision_is_used(context: CheckContext) -> None:
    """Rows, and numeric targets, give different states if they differ in the last digits of their dtype.

    A state that even coarse changes do not alter, such as that of a rule of signs, may stay the same.
    """
    size = perturbation_size(context.dtype)
    ensure(
        _state_changes(context, size) or not _state_changes(context, COARSE),
        f"a relative change of {size:.0e} of all numbers changes nothing",
    )


def _state_changes(context: CheckContext, size: float) -> bool:
    """Whether a relative change of all numbers, alternately up and down, changes the state after some rows."""
    chunk = context.rows()
    other = chunk.numbers(lambda a: np.asarray(a * (1 + size * np.resize([1, -1], a.shape)), a.dtype))
    other = other if context.accepts(other) else other._replace(y=chunk.y)
    found, _ = max_deviation(comparable_state(context.train(other)), comparable_state(context.train(chunk)))
    return found > 0
