"""Distributions of predictions: their standard deviations determine what the next step changes.

For noise of variance v and C = v^-1 Cov(w), the step w <- w + C x e / (1 + x'C x) is the posterior mean, so that the
prediction for z changes by z'C x e / (1 + x'C x), and the variance of the next target at x is v (1 + x'C x).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.conformance.check import Deviation, NotApplicable, check, skip_if, worst
from orfit_bench.conformance.checks.agreement import skip_if_not_linear
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.rows import Array, Chunk
from orfit_bench.spec.law import to_numpy64

NOISE = 4.0
"""The variance of the observation noise of methods that do not have it as a setting."""
SCALE = 2.0**15
"""The factor of rows whose variances are computed, so that small ones are not lost next to that of the noise."""
STEPS = (1, 2, 7, 23)
"""Numbers of rows after which the next step is compared."""


def needs_distribution(context: CheckContext) -> str:
    """The method must predict distributions of real numbers."""
    return "" if context.method.state.covariance else "the method declares no covariance of its weights"


def _variances(learner: Any, X: Array) -> Array:
    """The variances x'C x (n,) of predictions of the rows, for noise of variance 1; NotApplicable if it has none."""
    try:
        _, std = learner.predict(X * X.dtype.type(SCALE), return_std=True, noise_variance=NOISE)
    except ValueError as error:  # no distribution with these settings, or after so few rows
        raise NotApplicable(str(error)) from error
    variances = to_numpy64(learner.backend.asnumpy(std)).reshape(len(X), -1)[:, 0] ** 2
    return np.asarray((variances / NOISE - 1) / SCALE**2)


def _compare_step(context: CheckContext, chunk: Chunk, i: int, X: Array, gains: Array) -> Deviation:
    """Compare predictions of rows X after the step on row i with those before it plus gains (n,) times its error."""
    learner, row = context.train(chunk.cut(0, i)), chunk.cut(i, i + 1)
    before, own = (to_numpy64(context.predict(learner, rows)).reshape(len(rows), -1) for rows in (X, row.X))
    expected = before + gains[:, None] * (to_numpy64(row.y).reshape(1, -1) - own)
    context.learn(learner, row)
    after = to_numpy64(context.predict(learner, X)).reshape(len(X), -1)
    return context.compare(chunk.cut(0, i + 1), (after, expected), of=f"predictions after row {i}")


@check(needs_distribution)
def standard_deviations_match_the_next_step(context: CheckContext) -> Deviation:
    """The step on a row reduces its error by the share 1 - v / std^2, with v the variance of the noise."""
    skip_if_not_linear(context)
    skip_if(context.batch_size > 1, "a single row is not a step")
    chunk, found = context.rows(), []
    for i in STEPS:
        x = chunk.X[i : i + 1]
        variance = _variances(context.train(chunk.cut(0, i)), x)
        found.append(_compare_step(context, chunk, i, x, variance / (1 + variance)))
    return worst(found)


@check(needs_distribution)
def covariances_match_the_next_step(context: CheckContext) -> Deviation:
    """The step on a row x changes the predictions of other rows z by their covariance with that of x.

    The covariance follows from variances: x'C z = (var(x + z) - var(x - z)) / 4.
    """
    skip_if_not_linear(context)
    skip_if(context.batch_size > 1, "a single row is not a step")
    chunk, found = context.rows(), []
    for i in STEPS:
        x, Z = chunk.X[i : i + 1], np.ascontiguousarray(chunk.X[:5] / 2)
        learner = context.train(chunk.cut(0, i))
        own, plus, minus = (_variances(learner, X) for X in (x, x + Z, x - Z))
        found.append(_compare_step(context, chunk, i, Z, (plus - minus) / 4 / (1 + own)))
    return worst(found)
