"""Rows that are learned and predicted one at a time, and damaged bytes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from orfit_bench.conformance.acceptance import hint_for_checked_rows
from orfit_bench.conformance.check import Deviation, check, ensure, ensure_raises, skip_if_time_varying, worst
from orfit_bench.conformance.checks.agreement import MANY_FEATURES, is_linear
from orfit_bench.conformance.checks.saved_files import with_longer_headers
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.rows import Array, Chunk
from orfit_bench.learners.restoring import from_bytes
from orfit_bench.state import binary

FEW_ROWS = 6
"""Number of rows of many features: functions are bound after the first row, or for labels once all have occurred."""


def needs_single_rows(context: CheckContext) -> str:
    """The learners must have `learn_one`."""
    has = hasattr(context.create(), "learn_one")
    return "" if has else "its learners have no learn_one"


def learn_one(learner: Any, x: Any, chunk: Chunk, i: int) -> None:
    """Learn x, row i with or without names; some targets as Python numbers or labels, some by keyword."""
    if chunk.y is None:
        learner.learn_one(x)
    else:
        y = chunk.y[i]
        y = y.item() if i % 2 and isinstance(y, np.generic) else y
        if i % 3 == 2:
            learner.learn_one(x=x, y=y)
        else:
            learner.learn_one(x, y)


def learn_one_by_one(learner: Any, chunk: Chunk) -> None:
    """Learn all rows by `learn_one`."""
    for i, x in enumerate(chunk.X):
        learn_one(learner, x, chunk, i)


def predict_one(context: CheckContext, learner: Any, x: Array) -> Array:
    """The prediction for one row, or its projection, in host memory."""
    supervised = context.method.traits.supervised
    found = np.asarray(learner.backend.asnumpy(learner.predict_one(x) if supervised else learner.transform(x[None])))
    return found if supervised else np.asarray(found[0])


def _predict(context: CheckContext, learner: Any, X: Array) -> Array:
    """The predictions for several rows, or their projections, in host memory."""
    found = learner.predict(X) if context.method.traits.supervised else learner.transform(X)
    return np.asarray(learner.backend.asnumpy(found))


@check(needs_single_rows, numbers="any")
def learn_one_equals_partial_fit(context: CheckContext) -> Deviation:
    """`learn_one` changes the state like `partial_fit` with this row, and `predict_one` agrees with `predict`."""
    skip_if_time_varying(context)
    chunk = context.rows()
    one, rows = context.create(), context.create()
    predicted: list[tuple[Array, Array]] = []
    for i in range(len(chunk.X)):
        learn_one(one, chunk.X[i], chunk, i)
        row = chunk.cut(i, i + 1)
        is_listed = i % 3 == 0 or i == len(chunk.X) - 1  # this uses the code for any number of rows
        context.learn_silently(rows, row._replace(X=row.X.tolist()) if is_listed else row)
        if i == 0:
            first = one.copy(), rows.copy()
        if i % 2 and not context.method.traits.labels:
            predicted.append((predict_one(context, one, chunk.X[i]), _predict(context, rows, chunk.X[i : i + 1])[0]))
        ensure(one.pending == rows.pending, f"{one.pending} rows are pending after row {i}, want {rows.pending}")
    ensure(one.n_samples_seen_ == len(chunk.X), f"n_samples_seen_ is {one.n_samples_seen_} after {len(chunk.X)} rows")
    _ensure_refused(context, one, chunk)
    _ensure_complex_is_refused(context, one, chunk)
    begun, alike = context.initialize(chunk), context.initialize(chunk)  # the first row is a single one too
    learn_one(begun, chunk.X[0], chunk, 0)
    context.learn_silently(alike, chunk.cut(0, 1)._replace(X=chunk.X[:1].tolist()))
    pairs: list[tuple[Any, Any]] = [(one, rows), first, (begun, alike)]
    if context.method.traits.labels:
        single, several = [one.predict_one(x) for x in chunk.X], one.predict(chunk.X).tolist()
        ensure(single == several, f"predict_one returns {single}, predict {several}")
    else:
        alone = np.array([predict_one(context, one, x) for x in chunk.X])
        pairs += [(alone, _predict(context, one, chunk.X)), *predicted]
    several = [_learn_many_features(context, d) for d in (40, MANY_FEATURES)] if is_linear(context) else []
    return worst([context.compare(chunk, *pairs, exact=context.is_exact), *several])


def _learn_many_features(context: CheckContext, d: int) -> Deviation:
    """Compare `learn_one` with `partial_fit` after a few rows of d features."""
    chunk = context.rows(n=FEW_ROWS, d=d)
    one, rows = context.create(), context.create()
    learn_one_by_one(one, chunk)
    for i in range(len(chunk.X)):
        row = chunk.cut(i, i + 1)
        context.learn_silently(rows, row._replace(X=row.X.tolist()))
    return context.compare(chunk, (one, rows), exact=context.is_exact, of=f"with {d} features:")


def _ensure_refused(context: CheckContext, learner: Any, chunk: Chunk) -> None:
    """A row that is not finite raises ValueError and changes nothing."""
    before, x = learner.to_bytes(), chunk.X[0].copy()
    x[-1] = np.inf
    with hint_for_checked_rows(context):
        ensure_raises(lambda: learn_one(learner, x, chunk, 0), ValueError, "learn_one of a row that is not finite")
    if context.method.traits.numbers:
        assert chunk.y is not None
        wide = np.reshape(chunk.y[0], (1, -1))
        learn = partial(learner.learn_one, chunk.X[0], wide)
        ensure_raises(learn, ValueError, f"learn_one with targets {wide.shape}", f"got shape {wide.shape}")
    ensure(learner.to_bytes() == before, "learn_one refused a row and changed the learner")


def _ensure_complex_is_refused(context: CheckContext, learner: Any, chunk: Chunk) -> None:
    """A learner of real numbers must not predict a row of complex numbers."""
    if not context.method.traits.supervised or chunk.X.dtype.kind == "c":
        return
    x = chunk.X[0] + 1j
    ensure_raises(lambda: learner.predict_one(x), (TypeError, ValueError), "predict_one of a row of complex numbers")


# ---------------------------------------------------------------------- bytes


@check(all_variants=False)
def changed_bytes_are_refused(context: CheckContext) -> None:
    """A changed bit anywhere in the bytes of a learner raises ValueError."""
    data = context.train(context.rows()).to_bytes()
    for place in {*range(40), *np.linspace(0, len(data) - 1, 40, dtype=int).tolist()}:
        for bit in (1, 128):
            changed = bytearray(data)
            changed[place] ^= bit
            what = f"bit {bit} of byte {place} changed"
            ensure_raises(partial(from_bytes, bytes(changed), **context.model), ValueError, what)


@check(all_variants=False)
def cut_bytes_are_refused(context: CheckContext) -> None:
    """Bytes of a learner raise ValueError if some are missing at the end or in the middle, or if there are more."""
    data, other = (context.train(context.rows(n=n)).to_bytes() for n in (5, 7))
    n = len(data)
    for what, cut in (
        *((f"{k} of {n} bytes", data[:k]) for k in (*range(binary.START + 1), n // 2, n - 1)),
        ("an additional byte", data + b"\0"),
        ("two learners", data + other),
        ("the middle is missing", data[: n // 3] + data[n // 3 + 8 :]),
        ("another end", data[: n // 2] + other[n // 2 :]),
    ):
        ensure_raises(partial(from_bytes, bytes(cut), **context.model), ValueError, what)
    for longer in ({"rule": n}, {"state": n}):
        act = partial(from_bytes, with_longer_headers(data, **longer), **context.model)
        ensure_raises(act, ValueError, "a header that is longer than the bytes", f"got {n} bytes")
