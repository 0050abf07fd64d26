"""Long streams: nothing drifts."""

from __future__ import annotations

import numpy as np

from orfit_bench.conformance.check import Gap, check, require, unless
from orfit_bench.conformance.checks.agreement import from_information
from orfit_bench.conformance.checks.numbers import finite, settles
from orfit_bench.conformance.trial import Trial

SHORT, LONG = 3_000, 100_000


def _endures(trial: Trial, n: int) -> Gap | None:
    unless(not trial.variant.promised, "so many rows are tried under the settings that the method names")
    chunk = trial.rows(n=n)
    learner = trial.create()
    for i in range(0, n, n // 10):
        trial.learn(learner, chunk.cut(i, i + n // 10))
        finite(trial, learner, chunk.cut(i, i + 10))
    if trial.reference_lacks:
        gap = from_information(trial, learner, chunk)
        require(not (gap and gap.void), f"after {n} rows the last digits of the rows change all of {gap and gap.of}")
        return gap
    other = trial.truth.create()
    trial.truth.learn(other, chunk)
    return trial.gap(
        chunk, (learner, other), (trial.ask(learner, chunk.X[-10:]), trial.truth.ask(other, chunk.X[-10:]))
    )


@check()
def thousands_of_rows(trial: Trial) -> Gap | None:
    """Three thousand rows are learned, stay finite and end where the reference (or P's declaration) ends."""
    return _endures(trial, SHORT)


@check(slow=True)
def hundred_thousand_rows(trial: Trial) -> Gap | None:
    """A hundred thousand rows are learned, stay finite and end where the reference (or P's declaration) ends."""
    return _endures(trial, LONG)


@check(every=False)
def defaults_learn_standardized_rows(trial: Trial) -> Gap:
    """With its default settings a learner of rows of variance one, of ten features, stays finite."""
    chunk = trial.rows(n=200, d=10)
    X = chunk.X / np.asarray(chunk.X).std(axis=0)
    return settles(trial, chunk.with_rows(X))
