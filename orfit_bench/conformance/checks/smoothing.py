"""Smoothing: the estimates of a filter for past rows, given later rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.conformance.check import Deviation, check, worst
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.rows import Chunk


def needs_smoother(context: CheckContext) -> str:
    """The method must be a filter whose kernel has `rts_smooth`."""
    return "" if context.allows("smoothing") else "it has no smoother"


def needs_smoother_and_reference(context: CheckContext) -> str:
    """There must be a second smoother for comparison."""
    return needs_smoother(context) or context.reference_missing


@check(needs_smoother)
def last_smoothed_state_is_filtered(context: CheckContext) -> Deviation:
    """The last smoothed state equals that of the filter, and smoothing does not change the learner, bit by bit."""
    chunk = context.rows()
    learner, filtered = context.train(chunk.cut(0, 4)), context.train(chunk)
    rest, before = chunk.cut(4, 24), context.train(chunk.cut(0, 4))
    smoothed = learner.smooth(rest.X, rest.y, **rest.time_varying)
    context.ensure_identical(learner, before, "after smoothing")
    last = {name: smoothed[name].values[-1] for name in ("mean", "covariance")}
    pairs = [(a, filtered.array(name)) for name, a in last.items()]
    return context.compare(chunk, *pairs, of="the last smoothed state")


@check(needs_smoother_and_reference)
def smoothing_agrees_with_reference(context: CheckContext) -> Deviation:
    """The smoothed means and covariances equal those of the reference."""
    chunk = context.rows()
    prior = context.create().settings["initial_covariance"]  # the scale of the covariances, some of which end near zero

    def compare(name: str, scale: Any) -> Deviation:
        def smooth(own: CheckContext, learner: Any, chunk: Chunk) -> Any:
            return np.append(learner.smooth(chunk.X, chunk.y, **chunk.time_varying)[name].values, scale)

        pair = smooth(context, context.create(), chunk), smooth(context, context.reference.create(), chunk)
        return context.compare(chunk, pair, of=name, learn=smooth)

    return worst([compare("mean", 0.0), compare("covariance", prior)])


@check(needs_smoother)
def missing_rows_at_the_end_change_no_smoothed_state(context: CheckContext) -> Deviation:
    """Missing rows after the last observed row do not change earlier smoothed states."""
    chunk, seen = context.rows(), 19
    assert chunk.y is not None
    y = np.array(chunk.y)
    y[seen:] = np.nan
    short, rows = chunk.cut(0, seen), chunk._replace(y=y)
    want = context.create().smooth(short.X, short.y, **short.time_varying)
    found = context.create().smooth(rows.X, rows.y, **rows.time_varying)
    pairs = [(found[name].values[:seen], want[name].values) for name in ("mean", "covariance")]
    return context.compare(chunk, *pairs, of="the smoothed states")
