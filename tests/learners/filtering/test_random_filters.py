"""Random Kalman filters compared with decimal arithmetic of 90 digits: wrong results cause a warning or a refusal.

First variances are 0.1 to 1e8, noises 1e-3 to 10, process noises 0 to 1 of any rank, and transitions of seven kinds.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pytest
from helpers.decimals import as_matrix, decimals, solve, transition

import orfit_bench as ob

TRIALS, ROWS = 600, 20
Array = Any
ALLOWED = 4
"""Errors up to this number of eps^(1/3) deviations need no warning."""


class Series(NamedTuple):
    """Rows and targets, and the settings of their filter."""

    X: Array
    y: Array
    F: Array
    Q: Array
    first: float
    noise: float


class Exact(NamedTuple):
    """The log density of a series, and means (n, d) and deviations (n, d) of the smoothed states."""

    density: float
    means: Array
    deviations: Array


def draw(rng: np.random.Generator) -> Series:
    """Draw a series of numbers that float32 represents exactly."""
    d = int(rng.integers(1, 9))
    G = (
        np.round(rng.standard_normal((d, int(rng.integers(1, d + 1)))) * 8) / 8
    )  # so that Q is exact and positive semidefinite
    Q = rng.choice([0, 2.0**-20, 2.0**-10, 2.0**-3, 1]) * G @ G.T
    X = [
        rng.standard_normal((ROWS, d)),
        np.eye(d)[rng.integers(0, d, ROWS)],
        np.tile(rng.standard_normal(d), (ROWS, 1)),
    ]
    numbers = X[rng.integers(3)], rng.standard_normal(ROWS) * rng.choice([1, 10]), transition(rng, d), Q
    given = (np.asarray(a, np.float32).astype(float) for a in numbers)
    return Series(*given, 10.0 ** rng.integers(-1, 9), float(np.float32(10.0 ** rng.integers(-3, 2))))


def exact(s: Series) -> Exact:
    """The filter and smoother of textbooks."""
    n, d = s.X.shape
    F, Q, X, y = (decimals(a) for a in (as_matrix(s.F, d), s.Q, s.X, s.y))
    m, P, noise, density = decimals(np.zeros(d)), decimals(s.first * np.eye(d)), Decimal(s.noise), Decimal(0)
    steps = []
    for t in range(n):
        m, P = (F @ m, F @ P @ F.T + Q) if t else (m, P)
        u = P @ X[t]
        variance, e = X[t] @ u + noise, y[t] - X[t] @ m
        density -= (variance.ln() + e * e / variance) / 2
        after = m + u * (e / variance), P - np.outer(u, u) / variance
        steps.append((m, P, *after))
        m, P = after
    smoothed = [(m, P)]
    for t in range(n - 1, 0, -1):
        L = solve(steps[t][1], F @ steps[t - 1][3]).T
        m, P = steps[t - 1][2] + L @ (m - steps[t][0]), steps[t - 1][3] + L @ (P - steps[t][1]) @ L.T
        smoothed.append((m, P))
    means = np.array([m for m, _ in smoothed[::-1]], float)
    deviations = np.sqrt(np.array([np.diagonal(P) for _, P in smoothed[::-1]], float))
    return Exact(float(density) - n * np.log(2 * np.pi) / 2, means, deviations)


@pytest.fixture(scope="module")
def series() -> list[tuple[Series, Exact]]:
    return list(all_series())


def all_series() -> Iterator[tuple[Series, Exact]]:
    rng = np.random.default_rng(0)
    for _ in range(TRIALS):
        drawn = draw(rng)
        try:
            found = exact(drawn)
        except ZeroDivisionError:  # after a singular transition a direction is known exactly
            continue
        if (found.deviations > 0).all():
            yield drawn, found


def errors(form: str, dtype: str, backend: str, s: Series, want: Exact) -> Iterator[tuple[float, bool]]:
    """Errors of the log density per row, and of smoothed moments relative to deviations; whether it warned."""
    X, y = s.X.astype(dtype), s.y.astype(dtype)
    given = {"transition": s.F, "process_noise": s.Q, "initial_covariance": s.first, "observation_noise": s.noise}
    learner = ob.create("kalman", form=form, dtype=dtype, backend=backend, **given)
    for question in (learner.log_likelihood, learner.smooth):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found: Any = question(X, y)
            except ob.DivergedError:
                continue
        if question == learner.log_likelihood:
            error = abs(found - want.density) / max(len(X), abs(want.density) ** 0.5)
        else:
            means = found["mean"].values[:, :, 0].astype(float)
            variances = np.diagonal(found["covariance"].values.astype(float), axis1=1, axis2=2)
            distance = np.maximum(abs(means - want.means), abs(np.sqrt(abs(variances)) - want.deviations))
            smallest = np.sqrt(np.finfo(dtype).tiny)  # smaller variances have no digits
            error = float((distance / np.maximum(want.deviations, smallest)).max())
        yield error, bool(caught)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("form", ["covariance", "square_root"])
def test_large_errors_are_warned_of(form: str, dtype: str, backend: str, series: list[tuple[Series, Exact]]) -> None:
    found = [pair for one in series for pair in errors(form, dtype, backend, *one)]
    allowed = ALLOWED * np.finfo(dtype).eps ** (1 / 3)
    silent = [error for error, warned in found if not warned and not error <= allowed]
    assert not silent
    assert sum(not warned for _, warned in found) > 0.85 * len(found)
