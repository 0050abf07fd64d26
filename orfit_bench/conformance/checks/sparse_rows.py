"""Sparse rows, for methods that change nothing for features that are zero."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from orfit_bench.conformance.check import Deviation, check, ensure, ensure_raises, skip_if
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.rows import Chunk
from orfit_bench.learners.sparse import refusal

WIDE, EVERY = 64, 4
"""The number of features; one in EVERY is nonzero in each of the first rows."""
LATER, LATER_FEATURES = 13, 3
"""The row from which only the first features occur, and their number; all other weights must stay the same."""
CUTS = (0, 1, 4, 4, LATER)
"""Calls that learn zero, one and several rows."""


def needs_sparse_rows(context: CheckContext) -> str:
    """The method must support sparse rows on this backend."""
    return refusal(context.create().rule)


def _draw(context: CheckContext) -> Chunk:
    """Rows with few nonzero entries; the first row has none."""
    skip_if(reason := _refusal(context), reason)
    chunk = context.rows(d=WIDE)
    X = np.array(chunk.X)
    X[(np.arange(WIDE) + np.arange(len(X))[:, None]) % EVERY > 0] = 0
    X[LATER:] = chunk.X[LATER:] * (np.arange(WIDE) < LATER_FEATURES)
    X[0] = 0
    return chunk.with_rows(X)


def _refusal(context: CheckContext) -> str:
    """The reason why sparse rows are refused with these settings; empty if they are learned."""
    try:
        context.create().partial_fit(sparse.csr_array(np.eye(3)[:0]), context.rows(n=1).cut(0, 0).y)
    except TypeError as error:
        ensure("sparse" in str(error), f"sparse rows are refused by an error that does not contain 'sparse': {error}")
        return str(error)
    return ""


@check(needs_sparse_rows)
def sparse_rows_are_learned_like_dense_rows(context: CheckContext) -> Deviation:
    """Sparse rows give the state and the predictions of the same rows in dense form; wrong ones are refused."""
    chunk = _draw(context)
    dense, learner = context.train(chunk), context.create()
    for part in (chunk.cut(0, LATER), chunk.cut(LATER, len(chunk.X))):
        learner.partial_fit(sparse.csr_array(part.X), part.y)
    seen = learner.n_samples_seen_
    ensure(seen == len(chunk.X), f"n_samples_seen_ is {seen} after {len(chunk.X)} rows")
    pairs = [(learner, dense), (context.predict(learner, sparse.csr_array(chunk.X)), context.predict(dense, chunk.X))]
    _ensure_wrong_rows_are_refused(context, dense, chunk)
    return context.compare(chunk, *pairs)


@check(needs_sparse_rows)
def sparse_rows_in_several_calls(context: CheckContext) -> Deviation:
    """Sparse rows can be learned in calls of any length, with dense rows between them."""
    chunk = _draw(context)
    once, several = context.create(), context.create()
    once.partial_fit(sparse.csr_array(chunk.X), chunk.y)
    for i, (lo, hi) in enumerate(zip(CUTS, (*CUTS[1:], len(chunk.X)), strict=True)):
        part = chunk.cut(lo, hi)
        several.partial_fit(part.X if i == 3 else sparse.csr_array(part.X), part.y)
    _ensure_wrong_rows_are_refused(context, several, chunk)
    return context.compare(chunk, (several, once))


def _ensure_wrong_rows_are_refused(context: CheckContext, learner: Any, chunk: Chunk) -> None:
    """Sparse rows with a number that is not finite, or of another length, raise ValueError and change nothing."""
    before, infinite = learner.copy(), np.array(chunk.X)
    infinite[-1, -1] = np.inf
    for what, X in (("infinite numbers", infinite), ("fewer columns", chunk.X[:, 1:])):
        act = partial(learner.partial_fit, sparse.csr_array(X), chunk.y)
        ensure_raises(act, ValueError, f"sparse rows with {what}")
        context.ensure_identical(learner, before, f"after sparse rows with {what} were refused")
    if context.supports("blocks"):
        act = partial(learner.step, sparse.csr_array(chunk.X), chunk.y)
        ensure_raises(act, TypeError, "step with sparse rows", "A: got sparse rows")
        context.ensure_identical(learner, before, "after a step with sparse rows was refused")
