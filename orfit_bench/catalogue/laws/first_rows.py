"""Laws of RLS without a prior for nearly dependent first rows."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.helpers import condition, final_weights
from orfit_bench.catalogue.laws.state_space import to_float32
from orfit_bench.catalogue.shared.least_squares import invert_information
from orfit_bench.spec import Array
from orfit_bench.spec.law import Law, Measured, Rows, deviation, nan_max

D, LATER = 4, 9
"""Number of features, and of rows after the first block."""
SOURCE = "least-squares notes, initialization"


def first_rows_without_a_prior(create: Any, rows: Rows) -> Measured:
    """Without a prior, nearly dependent first rows give their least-squares solution and inverse information P.

    Later rows, in calls of any size, give those of all rows.
    """
    return _measure_start(create, rows.seed, lambda learner: learner.array("P").astype(float))


def first_root_without_a_prior(create: Any, rows: Rows) -> Measured:
    """In the square-root form without a prior, nearly dependent first rows give their least-squares solution."""
    return _measure_start(partial(create, form="square_root"), rows.seed, _inverse_of_root)


def mean_of_one_feature(create: Any, rows: Rows) -> Measured:
    """With one feature that is 1 and no prior, the weight is the weighted mean of the targets, from the first row."""
    y = to_float32(np.random.default_rng(rows.seed).uniform(1, 2, LATER))
    worst = 0.0
    for ff in (0.75, 1.0):
        learner = create(ridge=0.0, forgetting_factor=ff).step([[1.0]], y[:1])
        for n in range(1, LATER + 1):
            want = np.average(y[:n], weights=ff ** np.arange(n - 1.0, -1.0, -1.0))
            worst = nan_max(worst, deviation(final_weights(learner), [[want]]))
            learner.partial_fit([[1.0]], y[n : n + 1] if n < LATER else [0.0])
    return Measured(worst, LATER, 1.0)


def _inverse_of_root(learner: Any) -> Array:
    half = np.linalg.inv(learner.array("root").astype(float))
    return np.asarray(half @ half.T)


def _measure_start(create: Any, seed: int, covariance: Any) -> Measured:
    """Measure after a first block with as many rows as features, or more, and after the following rows."""
    rng, worst, cond = np.random.default_rng(seed), 0.0, 1.0
    for d, n, outputs in ((1, 1, 1), (D, D, 1), (D, D + 3, 2)):
        first = _nearly_dependent(rng, n, d, float(np.finfo(create().dtype).eps) ** 0.2)
        X = np.vstack([first, to_float32(rng.standard_normal((LATER, d)))])
        Y = to_float32(rng.standard_normal((len(X), outputs)))
        cond = max(cond, condition(first))
        for cuts in ((), range(n + 1, len(X)), (n + 1, n + 5)):
            learner = create(ridge=0.0).step(first, Y[:n])
            for end, part in ((n, ()), (len(X), pairwise((n, *cuts, len(X))))):
                for lo, hi in part:
                    learner.partial_fit(X[lo:hi], Y[lo:hi])
                want = np.linalg.lstsq(X[:end], Y[:end], rcond=None)[0]
                worst = nan_max(worst, deviation(final_weights(learner), want))
                worst = nan_max(worst, deviation(covariance(learner), invert_information(X[:end])))
    return Measured(worst, D * D, cond)


def _nearly_dependent(rng: np.random.Generator, n: int, d: int, least: float) -> Array:
    """Rows (n, d) whose singular values fall from 1 to `least`."""
    U, V = (np.linalg.qr(rng.standard_normal((k, d)))[0] for k in (n, d))
    return to_float32(U * np.geomspace(1, least, d) @ V.T)


FIRST_ROWS = (
    Law(first_rows_without_a_prior, SOURCE, exponent=2, shape="own"),
    Law(mean_of_one_feature, SOURCE, exponent=0, shape="own"),
    Law(first_root_without_a_prior, SOURCE, exponent=2, shape="own"),
)
