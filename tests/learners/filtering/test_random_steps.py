"""Random steps of several rows, compared with 90 digits: wrong means cause a warning or a refusal.

Steps have up to four rows, some equal, with correlated noise and missing targets; states rest or move.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from helpers.decimals import as_matrix, decimals, solve, transition
from helpers.filters import steps_without_warning

import orfit_bench as ob

TRIALS, STEPS = 600, 12
Array = Any
ALLOWED, DIGITS = 4, 50
"""Errors up to this many eps^(1/3) deviations, or eps times the largest mean so far, need no warning."""
MOST_SILENT = 1
"""Number of series that may exceed these errors, up to four times, without a warning: estimates can fail."""


class Step(NamedTuple):
    """Rows A (q, d), targets Y (q, c) and the noise R (q, q), of which `noise` is the diagonal or all."""

    A: Array
    Y: Array
    R: Array
    noise: Array


class Series(NamedTuple):
    """Steps, the first variance, and the motion of the state between steps, if any."""

    steps: list[Step]
    first: float
    motion: dict[str, Array]


class Moments(NamedTuple):
    """The mean (d, c) after a step, and its deviations (d,)."""

    mean: Array
    deviation: Array


def rounded(a: Array) -> Array:
    """The numbers, rounded to float32."""
    return np.asarray(a, np.float32).astype(float)


def draw_rows(rng: np.random.Generator, d: int) -> tuple[Array, Array]:
    """Rows A (q, d) and their noise R (q, q)."""
    q = int(rng.integers(1, 5))
    A = rounded(rng.standard_normal((q, d)) * 10.0 ** rng.integers(-2, 3))
    if rng.random() < 0.3:
        A = np.repeat(A[:1], q, axis=0)
    G = np.round(rng.standard_normal((q, q)) * 8) / 8  # so that R is exact
    R = 2.0 ** rng.integers(-10, 4) * (G @ G.T + 2.0 ** -int(rng.integers(0, 9)) * np.eye(q))
    return A, rounded(R * np.eye(q) if rng.random() < 0.3 else R)


def draw(rng: np.random.Generator) -> Series:
    """Draw a series whose targets are those of a state that moves as the filter expects."""
    d, c = int(rng.integers(1, 7)), int(rng.integers(1, 3))
    F, G, first = np.eye(d), np.zeros((d, 1)), 10.0 ** rng.integers(-1, 9)
    motion, steps = {}, []
    if rng.random() < 0.7:
        G = np.round(rng.standard_normal((d, int(rng.integers(1, d + 1)))) * 8) / 8
        G *= rng.choice([0, 2.0**-10, 2.0**-5, 1])
        F = as_matrix(rounded(transition(rng, d)), d)
        motion = {"transition": F, "process_noise": G @ G.T}
    state = np.sqrt(first) * rng.standard_normal((d, c))
    for _ in range(STEPS):
        A, R = draw_rows(rng, d)
        Y = rounded(A @ state + np.linalg.cholesky(R) @ rng.standard_normal((len(A), c)))
        if rng.random() < 0.3:
            Y[rng.integers(len(A))] = np.nan
        steps.append(Step(A, Y, R, R if (R - np.diag(np.diagonal(R))).any() else np.diagonal(R)))
        state = F @ state + G @ rng.standard_normal((G.shape[1], c))
    return Series(steps, first, motion)


def exact(s: Series) -> list[Moments]:
    """The filter of textbooks."""
    d, c = s.steps[0].A.shape[1], s.steps[0].Y.shape[1]
    m, P, found = decimals(np.zeros((d, c))), decimals(s.first * np.eye(d)), []
    for t, step in enumerate(s.steps):
        if t and s.motion:
            F, Q = decimals(as_matrix(s.motion["transition"], d)), decimals(s.motion["process_noise"])
            m, P = F @ m, F @ P @ F.T + Q
        seen = ~np.isnan(step.Y).any(axis=1)
        if seen.any():
            A, R, Y = decimals(step.A[seen]), decimals(step.R[seen][:, seen]), decimals(step.Y[seen])
            K = solve(A @ P @ A.T + R, A @ P).T
            m, P = m + K @ (Y - A @ m), P - K @ A @ P
        found.append(Moments(m.astype(float), np.sqrt(np.diagonal(P).astype(float))))
    return found


def errors(learner: Any, s: Series, want: list[Moments]) -> Iterator[float]:
    """The errors of the means relative to the allowed ones, until there is a warning."""
    eps, largest = float(np.finfo(learner.dtype).eps), 0.0
    for step, moments in zip(s.steps, want, strict=True):
        A, Y = (a.astype(learner.dtype) for a in (step.A, step.Y if step.Y.shape[1] > 1 else step.Y[:, 0]))
        if not steps_without_warning(learner, A, Y, observation_noise=step.noise, **s.motion):
            return
        mean, largest = learner.array("mean").astype(float), max(largest, abs(moments.mean).max())
        allowed = np.maximum(ALLOWED * eps ** (1 / 3) * moments.deviation, DIGITS * eps * largest)
        yield float((abs(mean.reshape(moments.mean.shape) - moments.mean).max(axis=1) / allowed).max())


@pytest.fixture(scope="module")
def series() -> list[tuple[Series, list[Moments]]]:
    rng = np.random.default_rng(0)
    drawn = [draw(rng) for _ in range(TRIALS)]
    return [(one, exact(one)) for one in drawn]


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("form", ["covariance", "square_root"])
def test_large_errors_of_means_are_warned_of(form: str, dtype: str, backend: str, series: Any) -> None:
    worst = []
    for one, want in series:
        learner = ob.create("kalman", form=form, dtype=dtype, backend=backend, initial_covariance=one.first)
        worst.append(max(errors(learner, one, want), default=0))
    silent = [error for error in worst if not error <= 1]
    assert len(silent) <= MOST_SILENT
    assert max(silent, default=0) < 4
