"""Numbers of every kind: in any memory layout, zero, repeated, constant, huge, tiny."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from orfit_bench.conformance.acceptance import (
    assert_learns,
    ensure_finite_state,
    ensure_nothing_is_cut_off,
    rows_until_refusal,
)
from orfit_bench.conformance.check import Deviation, NotApplicable, check, ensure, names_settings, skip_if
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import host_arrays_of, learned_fields
from orfit_bench.conformance.large_states import large_fields, with_large_field
from orfit_bench.conformance.rows import Array, Chunk
from orfit_bench.conformance.tolerance import few_ulps, perturbed
from orfit_bench.errors import DivergedError
from orfit_bench.models import MLP
from orfit_bench.spec import LINEAR

# ---------------------------------------------------------------------- memory layout


@check()
def any_memory_layout(context: CheckContext) -> None:
    """Strided, reversed, Fortran-ordered, byte-swapped and read-only arrays, and lists, give the same state."""
    chunk = context.rows()
    expected = context.train(chunk)
    for name, convert in LAYOUTS.items():
        context.ensure_identical(context.train(chunk.numbers(convert)), expected, f"with {name} rows")


def _strided(a: Array) -> Array:
    wide = np.full((2 * a.shape[0], *(2 * n for n in a.shape[1:])), np.nan, a.dtype)
    every_other = wide[tuple(slice(None, None, 2) for _ in a.shape)]
    every_other[...] = a
    return every_other


LAYOUTS: dict[str, Callable[[Array], Any]] = {
    "strided": _strided,
    "reversed": lambda a: np.ascontiguousarray(a[::-1])[::-1],
    "Fortran-ordered": np.asfortranarray,
    "byte-swapped": lambda a: a.astype(a.dtype.newbyteorder()),
    "writeable": np.array,
    "read-only": lambda a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape),
    "listed": np.ndarray.tolist,
}


# ---------------------------------------------------------------------- zeros, repetitions, constants


@check()
def rows_of_zeros(context: CheckContext) -> Deviation:
    """Rows of zeros, also at the start, are learned: their norm is not a divisor."""
    chunk = context.rows()
    X = chunk.X.copy()
    X[[0, 1, 9, 17]] = 0
    return assert_learns(context, chunk.with_rows(X))


@check()
def repeated_rows(context: CheckContext) -> Deviation:
    """Rows that are repeated, immediately or later, are learned."""
    chunk = context.rows()
    X = chunk.X.copy()
    X[[1, 2, 12]] = X[0]
    X[[6, 20]] = X[5]  # rows 5 and 6 are learned in two calls, or in one
    return assert_learns(context, chunk.with_rows(X))


@check()
def constant_columns(context: CheckContext) -> Deviation:
    """Rows with a column of ones and a column of zeros are learned."""
    chunk = context.rows()
    X = chunk.X.copy()
    X[:, 1], X[:, 3] = 1, 0
    return assert_learns(context, chunk.with_rows(X))


# ---------------------------------------------------------------------- huge and tiny numbers


@check()
def huge_and_tiny_scales(context: CheckContext) -> None:
    """Rows of any scale are learned, or refused with DivergedError; the state stays finite."""
    chunk = context.rows()
    exponent = np.finfo(context.dtype).maxexp
    for power in (-exponent + 8, -exponent // 4, exponent // 4, exponent // 2 + 8, exponent - 8):
        what = f"rows of scale 2^{power}"
        scaled = chunk.scale_rows(power)
        learner = context.create()
        n = rows_until_refusal(context, learner, scaled)
        ensure_finite_state(learner, what)
        ensure_nothing_is_cut_off(learner, what)
        again = rows_until_refusal(context, context.create(), scaled.cut(0, n))
        ensure(again == n, f"{what}: another row is refused in a shorter chunk")
        if not context.reference_missing:
            allowed = _acceptable_rows(context.reference, scaled, n)
            ensure(min(allowed) <= n <= max(allowed), f"{what}: {n} rows are learned, {allowed[0]} by the reference")


def _acceptable_rows(reference: CheckContext, chunk: Chunk, n: int) -> list[int]:
    """Numbers of rows that the reference learns, plus and minus a step: overflow depends on the order of products.

    If n is outside, the numbers of perturbed references are added, since rounding can decide, for example in a state
    that has lost its rank.
    """
    found, random = [rows_until_refusal(reference, reference.create(), chunk)], np.random.default_rng(reference.seed)
    step, size = reference.batch_size, few_ulps(reference.dtype)
    while not min(found) - step <= n <= max(found) + step and len(found) <= MAX_PERTURBED:
        found.append(rows_until_refusal(reference, perturbed(reference, size, random), chunk))
    return [found[0], min(found) - step, max(found) + step]


MAX_PERTURBED = 64
"""The largest number of perturbed references to try: as few as one in twenty refuses a disputed row."""
EXTREMES = ((1.0, None), (1.0, 1.0), (None, 1.0), (0.25, None))
"""Sizes of the numbers of an extreme row (None: SMALL) and of its target (None: unchanged), as powers of half the
largest float."""
MODERATE = 0.01
"""Factor of these powers for a row of moderate size."""
SMALL = 2.0**-10
"""Size of a row: small enough that weights fitting an extreme target overflow, large enough that a step is visible."""


@check()
def overflowing_step_is_refused(context: CheckContext) -> None:
    """A row whose step would overflow raises DivergedError with its number; the state is kept, learning continues."""
    chunk = context.rows(n=12 * context.batch_size)
    for at, sizes in product((2 * context.batch_size, 7 * context.batch_size), EXTREMES):
        before = context.train(chunk.cut(0, at))
        learner, refused = _learn_extreme_row(context, chunk, at, sizes)
        if refused < len(chunk.X):
            ensure(refused >= at, f"row {at} is too large, but row {refused} was refused")
        if refused == at:
            _ensure_same_fields(learner, before)
        rows_until_refusal(context, learner, chunk)
        ensure_finite_state(learner, "after further rows")


@check()
def steps_from_large_states_stay_finite(context: CheckContext) -> None:
    """With the largest float in a field, rows are learned, or refused with DivergedError; the state stays finite."""
    for large, rows, when in _large_states(context, n=4 * context.batch_size):
        rows_until_refusal(context, large, rows)
        ensure_finite_state(large, when)


@check()
def single_rows_from_large_states_stay_finite(context: CheckContext) -> None:
    """With the largest float in a field, rows in calls of their own leave a finite state, also after a refused one."""
    for large, rows, when in _large_states(context, n=6 * context.batch_size):
        for i in reversed(range(len(rows.X))):
            rows_until_refusal(context, large, rows.cut(i, i + 1))
        ensure_finite_state(large, when)


def _large_states(context: CheckContext, n: int) -> Iterator[tuple[Any, Chunk, str]]:
    """Learners with the largest float in a field, n rows of ordinary or extreme sizes, and a description of both."""
    B, exponent = context.batch_size, np.finfo(context.dtype).maxexp
    chunk = context.rows(n=4 * B + n)
    learner = context.train(chunk.cut(0, 4 * B))
    sizes = ((0, 0), (exponent - 8, 0), (0, exponent - 4), (-10, exponent - 4))
    for name, (of_rows, of_targets) in product(large_fields(learner), sizes):
        rows = chunk.cut(4 * B, 4 * B + n)
        rows = rows.scale_rows(of_rows) if of_rows else rows
        if of_targets:
            if not context.method.traits.numbers:
                continue
            rows = rows.scale_targets(of_targets)
        if not context.accepts(rows):
            continue
        with suppress(NotApplicable):  # the state is refused
            large = with_large_field(context, learner, name, 1.0)
            where = f"from a state with the largest float in {name}"
            yield large, rows, f"{where}, after rows of scale 2^{of_rows} with targets of scale 2^{of_targets}"


@check()
def no_step_is_skipped_silently(context: CheckContext) -> None:
    """Of an extreme row and its negative, at least one is refused or changes the weights."""
    if context.method.state.layered:  # use one linear layer
        context = replace(context, variant=replace(context.variant, model=MLP(())))
    skip_if(context.variant.model not in (LINEAR, MLP(())), "a model may be flat far from the data")
    _ensure_extreme_rows_are_noticed(context)


@names_settings
def _ensure_extreme_rows_are_noticed(context: CheckContext) -> None:
    """Each extreme row, or its negative, must be refused or change the weights, if a row of moderate size does."""
    B = context.batch_size * (4 if context.method.traits.labels else 1)  # a single class may be certain
    chunk = context.rows(n=2 * B, d=6 * B)  # enough features that no row is a combination of earlier rows
    before = context.train(chunk.cut(0, B))
    is_learned = _weights_differ(context.train(chunk), before)  # not if the loss of the ordinary row is zero
    for sizes in EXTREMES:
        if sizes[0] is None and not context.method.traits.numbers:
            continue  # there is no target that could be extreme
        for block in (False, True)[: 1 + (context.supports("blocks") and not context.variant.time_varying)]:
            moderate = (sizes[0] and MODERATE * sizes[0], sizes[1] and MODERATE * sizes[1])
            noticed, expected = (_is_noticed(context, chunk, before, of_row, block) for of_row in (sizes, moderate))
            nothing_to_learn = not expected or (sizes[1] is None and not is_learned)
            where = f"row {B}{' of a block' * block}"
            ensure(noticed or nothing_to_learn, f"{where} is extreme, but was neither refused nor learned")


def _is_noticed(
    context: CheckContext, chunk: Chunk, before: Any, sizes: tuple[float | None, float | None], block: bool
) -> bool:
    """Whether the row after those that `before` has learned, of these sizes, or its negative, is learned or refused."""
    at = before.n_samples_seen_
    found = [_learn_extreme_row(context, chunk, at, sizes, sign, block) for sign in (1, -1)]
    return any(refused == at or _weights_differ(learner, before) for learner, refused in found)


def _learn_extreme_row(
    context: CheckContext,
    chunk: Chunk,
    at: int,
    sizes: tuple[float | None, float | None],
    sign: int = 1,
    block: bool = False,
) -> tuple[Any, int]:
    """Learn rows with an extreme row `at`, from there as a block or not; also return the number of learned rows."""
    half, (x, y) = float(np.finfo(context.dtype).max) / 2, sizes
    X, targets = chunk.X.copy(), chunk.y
    X[at] = sign * (half**x if x else SMALL)
    if y and targets is not None and chunk.has_any_numbers:
        targets = targets.copy()
        targets[at] = half**y
    extreme = chunk._replace(X=X, y=targets)
    learner = context.train(extreme.cut(0, at)) if block else context.create()
    try:
        with np.errstate(all="ignore"):
            (context.step if block else context.learn)(learner, extreme.cut(at if block else 0, len(X)))
        refused = len(X)
    except DivergedError as error:
        refused = at if block else error.row
    ensure_finite_state(learner, "after an extreme row")
    ensure_nothing_is_cut_off(learner, "after an extreme row")
    return learner, refused


def _ensure_same_fields(got: Any, want: Any) -> None:
    fields, expected = (host_arrays_of(learner) for learner in (got, want))
    for name in expected:
        ensure(np.array_equal(fields[name], expected[name]), f"a refused step changed {name}")


def _weights_differ(got: Any, want: Any) -> bool:
    """Whether the weights, or the basis of a subspace, differ; if there are neither, whether any field differs."""
    fields, expected = (host_arrays_of(learner) for learner in (got, want))
    return any(not np.array_equal(fields[n], expected[n]) for n in learned_fields(want))
