"""Merging and averaging, as the method declares them."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.conformance.check import Gap, check, require, unless
from orfit_bench.conformance.checks.numbers import finite
from orfit_bench.conformance.inspection import host_arrays_of
from orfit_bench.conformance.trial import Trial
from orfit_bench.learners.averaging import average
from orfit_bench.spec import LINEAR


def needs_merge(trial: Trial) -> str:
    """The method must declare a rule."""
    return "" if trial.method.combine.merge else "the method declares no rule for merging"


def needs_average(trial: Trial) -> str:
    """The method must declare what an average is."""
    return "" if trial.method.combine.averages else "the method declares no average"


def _halves(trial: Trial) -> tuple[Any, Any]:
    """Two learners of a stream's parts, nothing waiting."""
    rule = trial.method.combine.merge
    refusal = rule.refuses(trial.create().settings, trial.variant.model is LINEAR) if rule else ""
    unless(trial.variant.along or refusal, refusal or "a motion that came with the rows is not merged")
    chunk = trial.rows(n=12 * trial.batch_size)
    cut = 4 * trial.batch_size
    return trial.learned(chunk.cut(0, cut)), trial.learned(chunk.cut(cut, len(chunk.X)))


def _merged(trial: Trial, one: Any, other: Any) -> Any:
    """One, with the other taken in. Under settings of one's own a rule may find that digits are lacking."""
    try:
        return one.merge(other)
    except ValueError as error:
        unless(trial.variant.settings, str(error))
        raise


@check(needs_merge)
def merges_as_declared(trial: Trial) -> Gap | None:
    """Exact: as if one had learned the other's rows too. Averaged: the mean of the weights by rows. Else finite."""
    one, other = _halves(trial)
    chunk = trial.rows(n=12 * trial.batch_size)
    weights = "basis" if not trial.method.traits.supervised else trial.method.state.weights
    before = [np.asarray(a.state()[weights].values, float) for a in (one, other) if weights in a.state()]
    rows = np.array([one.n_samples_seen_, other.n_samples_seen_])
    merged = _merged(trial, one, other)
    require(merged.n_samples_seen_ == rows.sum(), f"{merged.n_samples_seen_} rows seen, want {rows.sum()}")
    finite(trial, merged, chunk)
    kind = trial.method.combine.merge.kind if trial.method.combine.merge else ""
    if kind == "exact":
        return trial.gap(chunk, (merged, trial.learned(chunk)))
    if kind == "averaged":
        mean = (rows[0] * before[0] + rows[1] * before[1]) / rows.sum()
        return trial.gap(chunk, (np.asarray(merged.state()[weights].values), mean), of=weights)
    return None


@check(needs_merge)
def merge_leaves_other_unchanged(trial: Trial) -> None:
    """The learner that is merged into another stays as it was to the bit, and shares nothing with it."""
    one, other = _halves(trial)
    before = other.copy()
    _merged(trial, one, other)
    trial.same(other, before, "after it was merged into another")
    trial.learn(one, trial.rows())
    trial.same(other, before, "after the learner that took it in learned on")


@check(needs_average)
def averages_as_declared(trial: Trial) -> Gap:
    """`average` gives every learner the mean of the declared fields, and each goes on from there."""
    chunk = trial.rows(n=12 * trial.batch_size)
    parts = [trial.learned(chunk.cut(lo, lo + 4 * trial.batch_size)) for lo in (0, 4 * trial.batch_size)]
    fields = [{name: np.asarray(a, float) for name, a in host_arrays_of(p).items()} for p in parts]
    combine = trial.method.combine
    names = [n for n in combine.averages if n in fields[0] and n not in combine.average_weights]
    want = {n: np.mean([own[n] for own in fields], axis=0) for n in names}
    if combine.derive:
        want |= combine.derive(fields[0] | want, parts[0].settings)
    average(parts)
    for learner in parts:
        finite(trial, learner, chunk)
    got = parts[0].state()
    return trial.gap(chunk, (parts[0], parts[1]), *((got[n].values, want[n]) for n in want))
