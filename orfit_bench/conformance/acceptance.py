"""Shared parts of the checks of unusual rows: rows are learned, or refused if that is allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from orfit_bench.conformance.check import Deviation, NotApplicable, Violation, ensure, names_settings
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.rows import Array, Chunk
from orfit_bench.conformance.variants import single_changes
from orfit_bench.errors import DivergedError, LackingError


@names_settings
def assert_learns(context: CheckContext, chunk: Chunk) -> Deviation:
    """The rows are learned in one call and in several, without errors, and with the results of the reference."""
    single, several = context.create(), context.create()
    predictions = learn_or_skip(context, single, chunk)
    parts = [context.learn(several, chunk.cut(i, i + 3)) for i in range(0, len(chunk.X), 3)]
    ensure_finite(context, single, chunk)
    pairs: list[tuple[Any, Any]] = [(several, single), (context.concatenate(parts), predictions)]
    if not context.reference_missing:
        expected = context.reference.create()
        pairs += [(predictions, context.reference.learn(expected, chunk)), (single, expected)]
    return context.compare(chunk, *pairs, exact=context.is_exact)


@names_settings
def learn_or_skip(context: CheckContext, learner: Any, chunk: Chunk) -> Array | None:
    """Learn the rows. Raises NotApplicable if they are refused and that is allowed.

    Refusing them is allowed if the reference refuses the same row or, without a reference, if nothing is guaranteed for
    the settings.
    """
    try:
        return context.learn(learner, chunk)
    except DivergedError as error:
        if context.reference_missing:
            ensure(not context.variant.guaranteed, str(error))
        else:
            expected = rows_until_refusal(context.reference, context.reference.create(), chunk)
            ensure(abs(expected - error.row) <= 1, f"{error}; the reference learns {expected} rows")
        raise NotApplicable("such rows are refused") from error


@contextmanager
def hint_for_checked_rows(context: CheckContext) -> Iterator[None]:
    """Add a hint to a violation of a kernel that checks rows itself: how to treat rows that are not finite."""
    try:
        yield
    except Violation as error:
        hint = "; with CHECKS_ROWS, `learn` returns -1 where a row is not finite and changes nothing"
        raise Violation(f"{error}{hint * context.create().rule.kernel_checks_rows}") from error


def calls_that_learn(context: CheckContext) -> dict[str, Callable[[Any, Chunk], Any]]:
    """The calls of a learner that learn several rows, by name."""
    calls: dict[str, Callable[[Any, Chunk], Any]] = {"partial_fit": context.learn_silently}
    if context.method.traits.supervised:
        calls["prequential"] = context.learn
    if context.supports("blocks"):
        calls["step"] = context.step
    return calls


def train_with_other_settings(context: CheckContext, chunk: Chunk) -> Any:
    """A learner of the rows with one setting changed; None if no such learner learns them."""
    for settings in single_changes(context.method):
        try:
            return context.train(chunk, **settings)
        except (TypeError, ValueError, DivergedError, LackingError):  # such rows are not supported
            continue
    return None


def rows_until_refusal(context: CheckContext, learner: Any, chunk: Chunk) -> int:
    """Learn the rows; return the number learned before one was refused, or all if none was."""
    try:
        with np.errstate(all="ignore"):
            context.learn(learner, chunk)
    except DivergedError as error:
        ensure(0 <= error.row < len(chunk.X), f"DivergedError.row is {error.row} of {len(chunk.X)} rows")
        return error.row
    return len(chunk.X)


def ensure_finite(context: CheckContext, learner: Any, chunk: Chunk) -> None:
    """The state and the predictions must be finite."""
    ensure_finite_state(learner, "the state")
    ensure(np.isfinite(context.predict(learner, chunk.X)).all(), "predictions are not finite")


def ensure_finite_state(learner: Any, when: str, except_for: str = "") -> None:
    """Every array of the state must be finite, except for `except_for` and pending targets, which may be missing."""
    for name, a in learner.state().data_vars.items():
        may_be_nan = a.dtype.kind not in "fc" or name in ("pending_y", except_for)
        ensure(
            may_be_nan or np.isfinite(a.values).all(),
            f"{when}: {name} is not finite; refuse such a step: return False and change nothing",
        )


def _real_parts(a: Array) -> list[Array]:
    """The floating-point numbers of an array: the array itself, or the real and imaginary parts; none for integers."""
    return [a.real, a.imag] if a.dtype.kind == "c" else [a] if a.dtype.kind == "f" else []


def ensure_nothing_is_cut_off(learner: Any, when: str) -> None:
    """No field may contain the largest number, to which `nan_to_num` converts infinity. All rows must be smaller."""
    for name, a in learner.state().data_vars.items():
        ensure(
            not any((np.abs(part) == np.finfo(part.dtype).max).any() for part in _real_parts(a.values)),
            f"{when}: {name} holds the largest number of its dtype, cut off from infinity; refuse such a step: return "
            "False and change nothing",
        )
