"""Rows with negative weights: the amount that they remove is measured, and a loss of digits gives a warning."""

from __future__ import annotations

import warnings
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from orfit_bench.conformance.check import check, ensure, skip_if
from orfit_bench.conformance.checks.merging import needs_merge
from orfit_bench.conformance.checks.row_weights import needs_repetitions
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import host_arrays_of
from orfit_bench.conformance.rows import Array, Chunk
from orfit_bench.errors import AccuracyWarning, DivergedError

LARGE = 3
"""Number of large rows that are unlearned."""
MARGIN = 8
"""Factor by which the remaining share is below or above the threshold of the warning."""


def needs_unlearning(context: CheckContext) -> str:
    """The method must subtract rows from sums, solve for its weights, and forget nothing by default."""
    weighting = context.method.kernel.weighting
    unlearns = weighting is not None and weighting.sums and context.method.state.solution
    return needs_repetitions(context) or ("" if unlearns else "rows are not subtracted from sums")


@check(needs_unlearning, all_variants=False)
def unlearned_digits_are_warned_of(context: CheckContext) -> None:
    """Unlearning rows that are much larger than the others gives one AccuracyWarning, ordinary rows none."""
    for learn in (_in_one_call, _one_by_one):
        for power in (0, _power(context)):
            learner, rest, want = _unlearned(context, power, learn)
            given = _warnings_of(context, learner, rest)
            ensure(given == want, f"{given} warnings after rows of size 2^{power} were unlearned, want {want}")
            ensure(_warnings_of(context, learner, rest) == 0, "the second prediction warned again")


def needs_unlearning_and_merge(context: CheckContext) -> str:
    """In addition to `needs_unlearning`, the method must have a merge rule."""
    return needs_unlearning(context) or needs_merge(context)


@check(needs_unlearning_and_merge, all_variants=False)
def merges_remember_what_was_unlearned(context: CheckContext) -> None:
    """A merge with a learner that has unlearned much larger rows gives one AccuracyWarning, in either order."""
    other = context.train(context.rows())
    for power in (0, _power(context)):
        one, rest, want = _unlearned(context, power, _in_one_call)
        merges = [partial(a.copy().merge, b.copy()) for a, b in ((one, other), (other, one), (one, one))]
        for merged in merges:
            given = _warnings_of(context, merged(), rest)
            ensure(given == want, f"{given} warnings after a merge, rows of size 2^{power} unlearned, want {want}")


def _power(context: CheckContext) -> int:
    """The power of two by which large rows are scaled: their squares leave few digits of other squares."""
    return int(np.ceil(-np.log2(np.finfo(context.dtype).eps) * 3 / 8))


def _unlearned(context: CheckContext, power: int, learn: Any) -> tuple[Any, Chunk, int]:
    """A learner that has learned rows and larger rows, and unlearned the latter; the rows; the expected warnings.

    Raises NotApplicable if the start of the sums, which counts like rows, leaves about half of the digits.
    """
    chunk = context.rows()
    rest, large = chunk.cut(LARGE, len(chunk.X)), chunk.cut(0, LARGE).scale_rows(power)
    learner = context.train(rest)
    left = _squares(learner)
    learn(learner, large, 1.0)
    learned = _squares(learner)
    share = float((left / learned).min())
    learn(learner, large, -1.0)
    error = np.abs(_squares(learner) - left).max() / learned.max()
    allowed = 1000 * np.finfo(context.dtype).eps
    ensure(error < allowed, f"sums of squares of unlearned rows: {error:.1e} of them are left, allowed {allowed:.1e}")
    half = float(np.finfo(context.dtype).eps) ** 0.5
    skip_if(half / MARGIN < share < half * MARGIN, "unlearning leaves about half of the digits")
    return learner, rest, int(share < half)


def _squares(learner: Any) -> Array:
    """The sums of squares of the features: the diagonal of a field from which rows are subtracted."""
    weighting, fields = learner.method.kernel.weighting, host_arrays_of(learner)
    square = [fields[name] for name in weighting.sums if np.ndim(fields[name]) == 2]
    grams = [a for a in square if a.shape[0] == a.shape[1] == learner.n_features_in_]
    skip_if(not grams, "no sum is a Gram matrix of the rows")
    return np.diagonal(grams[0]).real


def _in_one_call(learner: Any, chunk: Chunk, weight: float) -> None:
    learner.partial_fit(chunk.X, chunk.y, sample_weight=np.full(len(chunk.X), weight))


def _one_by_one(learner: Any, chunk: Chunk, weight: float) -> None:
    for x, y in zip(chunk.X, np.asarray(chunk.y), strict=True):
        learner.learn_one(x, y, sample_weight=weight)


def _warnings_of(context: CheckContext, learner: Any, chunk: Chunk) -> int:
    """The number of warnings of a prediction."""
    with warnings.catch_warnings(record=True) as given, suppress(DivergedError):
        warnings.simplefilter("always")
        context.predict(learner, chunk.X)
    return sum(issubclass(one.category, AccuracyWarning) for one in given)
