"""Numbers as they come: in any place of memory, zero, repeated, constant, huge, tiny."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from orfit_bench.conformance.check import Gap, Inapplicable, check, require, unless
from orfit_bench.conformance.inspection import host_arrays_of
from orfit_bench.conformance.rows import Array, Chunk
from orfit_bench.conformance.tolerance import NEAR, nudged, roundings
from orfit_bench.conformance.trial import Trial
from orfit_bench.errors import DivergedError
from orfit_bench.models import MLP
from orfit_bench.spec import LINEAR


def settles(trial: Trial, chunk: Chunk) -> Gap:
    """Rows of this kind are learned without complaint, cut or whole, and as the reference learns them."""
    whole, cut = trial.create(), trial.create()
    told = learned_or_rightly_refused(trial, whole, chunk)
    parts = [trial.learn(cut, chunk.cut(i, i + 3)) for i in range(0, len(chunk.X), 3)]
    finite(trial, whole, chunk)
    pairs: list[tuple[Any, Any]] = [(cut, whole), (trial.joined(parts), told)]
    if not trial.reference_lacks:
        other = trial.truth.create()
        pairs += [(told, trial.truth.learn(other, chunk)), (whole, other)]
    return trial.gap(chunk, *pairs)


def learned_or_rightly_refused(trial: Trial, learner: Any, chunk: Chunk) -> Array | None:
    """What was predicted on the way. A refusal needs the reference's beside it, or settings that promise nothing."""
    try:
        return trial.learn(learner, chunk)
    except DivergedError as error:
        if trial.reference_lacks:
            require(not trial.variant.promised, str(error))
        else:
            want = fate(trial.truth, trial.truth.create(), chunk)
            require(abs(want - error.row) <= 1, f"{error}; the reference learns {want} rows")
        raise Inapplicable("such rows are refused") from error


def finite(trial: Trial, learner: Any, chunk: Chunk) -> None:
    """The state and the answers are finite."""
    _all_finite(learner, "the state")
    require(np.isfinite(trial.ask(learner, chunk.X)).all(), "the answers are not finite")


@check()
def any_memory_layout(trial: Trial) -> None:
    """Strided, reversed, Fortran-ordered, byte-swapped and mapped rows give what plain arrays give, to the bit."""
    chunk = trial.rows()
    want = trial.learned(chunk)
    for name, dress in DRESSES.items():
        dressed = chunk.numbers(dress)
        trial.same(trial.learned(dressed), want, f"of {name} rows")


def _strided(a: Array) -> Array:
    wide = np.full((2 * a.shape[0], *(2 * n for n in a.shape[1:])), np.nan, a.dtype)
    every_other = wide[tuple(slice(None, None, 2) for _ in a.shape)]
    every_other[...] = a
    return every_other


DRESSES: dict[str, Callable[[Array], Array]] = {
    "strided": _strided,
    "reversed": lambda a: np.ascontiguousarray(a[::-1])[::-1],
    "Fortran-ordered": np.asfortranarray,
    "byte-swapped": lambda a: a.astype(a.dtype.newbyteorder()),
    "writeable": np.array,
    "memory-mapped": lambda a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape),
}


@check()
def rows_of_zeros(trial: Trial) -> Gap:
    """Rows of zeros, the first ones too, are learned like any others: nothing divides by their size."""
    chunk = trial.rows()
    X = chunk.X.copy()
    X[[0, 1, 9, 17]] = 0
    return settles(trial, chunk.with_rows(X))


@check()
def repeated_rows(trial: Trial) -> Gap:
    """Rows that come again, and again after others, are learned like any others."""
    chunk = trial.rows()
    X = chunk.X.copy()
    X[[1, 2, 12]] = X[0]
    X[20] = X[10]
    return settles(trial, chunk.with_rows(X))


@check()
def constant_columns(trial: Trial) -> Gap:
    """A column of ones and a column of zeros are learned like any others."""
    chunk = trial.rows()
    X = chunk.X.copy()
    X[:, 1], X[:, 3] = 1, 0
    return settles(trial, chunk.with_rows(X))


@check()
def huge_and_tiny_scales(trial: Trial) -> None:
    """Rows of any scale are learned, or refused by DivergedError with the state before it kept: nothing is infinite."""
    chunk = trial.rows()
    exponent = np.finfo(trial.dtype).maxexp
    for power in (-exponent + 8, -exponent // 4, exponent // 4, exponent // 2 + 8, exponent - 8):
        scaled = chunk.with_rows(np.ldexp(np.asarray(chunk.X, np.longdouble), power).astype(trial.dtype))
        learner, kept = trial.create(), trial.create()
        row = fate(trial, learner, scaled)
        _all_finite(learner, f"rows of scale 2^{power}")
        require(
            fate(trial, kept, scaled.cut(0, row)) == row, f"rows of scale 2^{power}: refused at another row when cut"
        )
        if not trial.reference_lacks:
            wanted = _fates(trial.truth, scaled, row)
            said = f"rows of scale 2^{power}: {row} are learned, by the reference {wanted[0]}"
            require(min(wanted) <= row <= max(wanted), said)


def _fates(truth: Trial, chunk: Chunk, row: int) -> list[int]:
    """How many rows the reference learns: to a step, for the order of products decides which overflows first.

    Where it learned another number than `row`, its roundings may decide, in a state that has lost its rank, say.
    """
    found, random = [fate(truth, truth.create(), chunk)], np.random.default_rng(truth.seed)
    if abs(found[0] - row) > truth.batch_size:
        found += [fate(truth, nudged(truth, roundings(truth.dtype), random), chunk) for _ in range(NEAR)]
    return [found[0], *(n + more for n in found for more in (-truth.batch_size, truth.batch_size))]


@check()
def overflowing_step_is_refused(trial: Trial) -> None:
    """A row too large to learn raises DivergedError with its number and leaves the state; learning goes on."""
    chunk = trial.rows(n=12 * trial.batch_size)
    at = 2 * trial.batch_size
    before = trial.learned(chunk.cut(0, at))
    for sizes in WILD:
        learner, row = _after_wild_row(trial, chunk, at, sizes)
        if row < len(chunk.X):
            require(row >= at, f"row {at} is too large, row {row} was refused")
        if row == at:
            _same_fields(learner, before, "after a step was refused")
        fate(trial, learner, chunk)
        _all_finite(learner, "learning on")


@check()
def no_step_is_skipped_silently(trial: Trial) -> None:
    """Of a wild row and its opposite at least one is refused or changes the weights."""
    if trial.method.state.layered:  # on one linear layer
        trial = replace(trial, variant=replace(trial.variant, model=MLP(())))
    unless(trial.variant.model not in (LINEAR, MLP(())), "a model may be flat far out")
    B = trial.batch_size
    chunk = trial.rows(n=2 * B, d=6 * B)  # so many features that no row is a combination of those before
    before = trial.learned(chunk.cut(0, B))
    for sizes in WILD:
        if sizes[0] is None and not trial.method.traits.numbers:
            continue  # there is no answer that could be wild
        for block in (False, True)[: 1 + (trial.can("blocks") and not trial.variant.along)]:
            after = [_after_wild_row(trial, chunk, B, sizes, sign, block) for sign in (1, -1)]
            told = any(row == B or _moved(learner, before) for learner, row in after)
            said = f"row {B}{' in a block' * block} is wild, but was neither refused nor learned"
            require(told, said)


WILD = ((1.0, None), (1.0, 1.0), (None, 1.0), (0.25, None))
"""Sizes of the numbers of a wild row (None: SMALL) and of its answer (None: as it is), as powers of half the largest
float."""
SMALL = 2.0**-10
"""So small that the weights that fit it to a wild answer leave the floats, so large that a step along it shows."""


def _after_wild_row(
    trial: Trial, chunk: Chunk, at: int, sizes: tuple[float | None, float | None], sign: int = 1, block: bool = False
) -> tuple[Any, int]:
    """A learner of the rows with a wild one among them, in a block or not, and the rows before it refused one."""
    half, (x, y) = float(np.finfo(trial.dtype).max) / 2, sizes
    X, answers = chunk.X.copy(), chunk.y
    X[at] = sign * (half**x if x else SMALL)
    if y and answers is not None and answers.dtype.kind == "f" and not _signs(answers):
        answers = answers.copy()
        answers[at] = half**y
    wild = chunk._replace(X=X, y=answers)
    learner = trial.learned(wild.cut(0, at)) if block else trial.create()
    try:
        with np.errstate(all="ignore"):
            (trial.step if block else trial.learn)(learner, wild.cut(at if block else 0, len(X)))
        row = len(X)
    except DivergedError as error:
        row = at if block else error.row
    _all_finite(learner, "after a wild row")
    return learner, row


def _signs(y: Array) -> bool:
    return bool(np.isin(y, (-1, 1)).all())


def fate(trial: Trial, learner: Any, chunk: Chunk) -> int:
    """The rows learned before the learner refused one: all of them where it did not."""
    try:
        with np.errstate(all="ignore"):
            trial.learn(learner, chunk)
    except DivergedError as error:
        return error.row
    return len(chunk.X)


def _all_finite(learner: Any, said: str) -> None:
    for name, a in learner.state().data_vars.items():
        require(
            a.dtype.kind != "f" or name == "pending_y" or np.isfinite(a.values).all(), f"{said}: {name} is not finite"
        )


def _same_fields(got: Any, want: Any, said: str) -> None:
    one, other = (host_arrays_of(learner) for learner in (got, want))
    for name in other:
        require(np.array_equal(one[name], other[name]), f"{said}: {name} is not what it was before")


def _moved(got: Any, want: Any) -> bool:
    """Whether the weights differ, or the basis of a subspace, or, where there are none, anything."""
    one, other = (host_arrays_of(learner) for learner in (got, want))
    weights = [n for n in (got.method.state.weights, "basis") if n in other][:1] or list(other)
    return any(not np.array_equal(one[n], other[n]) for n in weights)
