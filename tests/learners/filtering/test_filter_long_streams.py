"""The Kalman filter on long streams, against a filter of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.filters import moments

import orfit_bench as ob
from benchmarks.endurance.measurement import Rows, measure_long_stream


def stable(d: int) -> tuple[Any, Any]:
    """A random transition of spectral radius 0.999, and a factor of a small process noise of rank 2."""
    rng = np.random.default_rng(7)
    F = rng.standard_normal((d, d))
    F *= 0.999 / abs(np.linalg.eigvals(F)).max()
    B = 1e-3 * rng.standard_normal((d, 2))
    return F, B


class ArrayFilter:
    """The same filter, which keeps only a factor L of P = L L': orthogonal transformations lose half as many digits."""

    def __init__(self, F: Any, B: Any, variance: float) -> None:
        self.F, self.B, self.noise, d = F, B, np.sqrt(variance), len(F)
        self.mean, self.L, self.begun = np.zeros(d), np.eye(d), False

    def learn(self, x: Any, y: float) -> None:
        if self.begun:
            self.mean, self.L = self.F @ self.mean, triangular(np.hstack([self.F @ self.L, self.B]))
        self.begun = True
        d = len(x)
        M = np.zeros((d + 1, d + 1))
        M[0, 0], M[0, 1:], M[1:, 1:] = self.noise, x @ self.L, self.L
        M = triangular(M)
        self.mean, self.L = self.mean + M[1:, 0] / M[0, 0] * (y - x @ self.mean), M[1:, 1:]


def triangular(A: Any) -> Any:
    """L (k, k) lower triangular with L L' = A A'."""
    return np.linalg.qr(A.T, mode="r").T


def check_long_run(n: int) -> tuple[float, float, float]:
    """Learn n rows of 6 features; the largest errors of mean and P, and the least eigenvalue of P over its largest."""
    (F, B), rng = stable(6), np.random.default_rng(8)
    learner = ob.create("kalman", transition=F, process_noise=B @ B.T, observation_noise=0.01)
    exact, found = ArrayFilter(F, B, 0.01), []
    for i in range(0, n, 1000):
        rows = rng.standard_normal((1000, 6))
        targets = np.sin(0.01 * np.arange(i, i + 1000)) + 0.1 * rng.standard_normal(1000)
        learner.partial_fit(rows, targets)
        for x, target in zip(rows, targets, strict=True):
            exact.learn(x, target)
        mean, P = moments(learner)
        np.testing.assert_array_equal(P, P.T)
        values, wanted = np.linalg.eigvalsh(P), ((mean[:, 0], exact.mean), (P, exact.L @ exact.L.T))
        found.append([*(np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in wanted), -values[0] / values[-1]])
    mean_error, P_error, least = np.max(found, axis=0)
    print(f"{n} steps: mean off by {mean_error:.1e}, P by {P_error:.1e}, least eigenvalue {-least:.1e}")
    assert -least > 0
    assert max(mean_error, P_error) < 1e-9
    return float(mean_error), float(P_error), float(-least)


def check_at_rest(n: int, rows: Rows) -> None:
    """Compare with a triangular factor updated only by orthogonal factorizations."""
    errors, warned, refused_at = measure_long_stream(ob.create("kalman"), "covariance", n, rows, 1.0)
    assert (warned, refused_at) == (0, 0)
    assert errors[-1].rows == n
    _, mean, P, _, asymmetry = np.max(errors, axis=0)
    least = min(one.min_eigenvalue for one in errors)
    print(f"{n} rows at rest: mean off by {mean:.1e}, P by {P:.1e}, least eigenvalue {least:.1e}")
    assert max(mean, P) < 1e-9
    assert least > 0
    assert asymmetry == 0


def test_two_thousand_steps_of_a_moving_state() -> None:
    check_long_run(2000)


def test_two_thousand_ill_conditioned_rows_at_rest() -> None:
    check_at_rest(2000, Rows(seen=12))


@pytest.mark.slow
def test_a_million_steps_of_a_moving_state() -> None:
    check_long_run(1_000_000)


@pytest.mark.slow
def test_a_million_ill_conditioned_rows_at_rest() -> None:
    check_at_rest(1_000_000, Rows(seen=12, condition=1e5))
