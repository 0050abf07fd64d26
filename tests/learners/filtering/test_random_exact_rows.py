"""Random rows without noise, compared with exact fractions: wrong means cause a warning, whatever the targets are.

States rest and move in turn. Targets fit a state that moves in the same way, or are arbitrary, so that they contradict
parameters that are known exactly, for which rounding leaves a small deviation.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from helpers.filters import steps_without_warning

import orfit_bench as ob

TRIALS, STEPS = 200, 14
Array = Any
UNIT = {"float64": 1e-6, "float32": 1e-2}
"""Allowed errors, relative to the mean or in deviations, whichever is larger."""
LEAST_ACCEPTED = {"float64": 0.8, "float32": 0.6}
"""Least share of series with fitting targets that are learned without a warning or a refusal."""
MOST_SILENT = {"float64": 0.0, "float32": 0.03}
"""Largest share of series with a larger error and no warning: in float32 small variances count as zero."""


class Series(NamedTuple):
    """Rows (n, d), targets (n,), noises (n,), the rows before which the state moves, and its transition."""

    rows: Array
    targets: Array
    noises: Array
    moves: Array
    F: Array
    Q: Array
    first: float
    fits: bool
    """Whether the targets are those of a state that moves in the same way."""


def draw(rng: np.random.Generator) -> Series:
    """Draw a series; all numbers except the noise of targets that fit are multiples of 1/4."""
    d = int(rng.integers(1, 6))
    F = np.eye(d) + 0.25 * np.eye(d, k=1) if rng.random() < 0.5 else np.round(rng.standard_normal((d, d)) * 4) / 4
    Q = np.diag((rng.random(d) < 0.4) * (rng.random() < 0.5) * 1.0)
    rows = np.round(rng.standard_normal((STEPS, d)) * 4) / 4
    if rng.random() < 0.5:
        rows = rows[rng.integers(0, 3, STEPS)]
    noises, moves = np.where(rng.random(STEPS) < 0.7, 0.0, 0.25), rng.random(STEPS) < rng.choice([0.1, 0.3, 0.6])
    first = 10.0 ** rng.integers(0, 5)
    targets, fits = np.round(rng.standard_normal(STEPS) * 4) / 4, bool(rng.random() < 0.5)
    if fits:
        state = np.sqrt(first) * rng.standard_normal(d)
        for t in range(STEPS):
            if t and moves[t]:
                state = F @ state + np.sqrt(np.diagonal(Q)) * rng.standard_normal(d)
            targets[t] = rows[t] @ state + np.sqrt(noises[t]) * rng.standard_normal()
    return Series(rows, targets, noises, moves, F, Q, first, fits)


def fractions(a: Array) -> Array:
    return np.vectorize(Fraction, otypes=[object])(np.asarray(a, float))


def exact(s: Series) -> list[tuple[Array, Array]]:
    """Exact means and deviations after each row; a row whose variance is zero changes nothing."""
    d = s.rows.shape[1]
    m, P, F, Q = (fractions(a) for a in (np.zeros(d), s.first * np.eye(d), s.F, s.Q))
    found = []
    for t, row in enumerate(s.rows):
        if t and s.moves[t]:
            m, P = F @ m, F @ P @ F.T + Q
        x = fractions(row)
        variance = x @ P @ x + Fraction(s.noises[t])
        if variance > 0:
            u = P @ x
            m, P = m + u * ((Fraction(s.targets[t]) - x @ m) / variance), P - np.outer(u, u) / variance
        found.append((m.astype(float), np.sqrt(np.diagonal(P).astype(float))))
    return found


def silent_error(learner: Any, s: Series, want: list[tuple[Array, Array]]) -> tuple[float, bool]:
    """The largest error of a mean before a warning, in units, and whether all rows were learned without one."""
    worst = 0.0
    for t, (mean, deviation) in enumerate(want):
        motion = {"transition": s.F, "process_noise": s.Q} if s.moves[t] else {}
        row, target = (a[t : t + 1].astype(learner.dtype) for a in (s.rows, s.targets))
        if not steps_without_warning(learner, row, target, observation_noise=float(s.noises[t]), **motion):
            return worst, False
        unit = np.maximum(deviation, UNIT[learner.dtype.name] * max(abs(mean).max(), 1))
        worst = max(worst, float((abs(learner.array("mean")[:, 0] - mean) / unit).max()))
    return worst, True


@pytest.fixture(scope="module")
def series() -> list[tuple[Series, list[tuple[Array, Array]]]]:
    rng = np.random.default_rng(0)
    drawn = [draw(rng) for _ in range(TRIALS)]
    return [(one, exact(one)) for one in drawn]


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("form", ["covariance", "square_root"])
def test_means_that_are_far_off_are_warned_of(form: str, dtype: str, backend: str, series: Any) -> None:
    found = []
    for one, want in series:
        learner = ob.create("kalman", form=form, dtype=dtype, backend=backend, initial_covariance=one.first)
        found.append((*silent_error(learner, one, want), one.fits))
    far = [error for error, _, _ in found if not error < 1]
    accepted = [is_accepted for _, is_accepted, fits in found if fits]
    assert np.mean(accepted) >= (LEAST_ACCEPTED[dtype] if form == "covariance" else 0.95)
    assert len(far) <= MOST_SILENT[dtype] * TRIALS
