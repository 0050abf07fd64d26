"""Rows that shrink variances or leave small residuals, in one call: as many digits as row by row."""

from __future__ import annotations

import warnings
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob

X = np.array([[1.0], [3e4], [1.0], [1.0]])
Y = np.array([[1.0, 0], [2, 1], [3, 1], [5, 1]])


@pytest.mark.parametrize(
    ("method", "settings", "field", "targets"),
    [
        ("rls", {"ridge": 1e-8}, "P", Y),
        ("kalman", {"initial_covariance": 1e8}, "covariance", Y),
        ("class_rls", {"ridge": 1e-8}, "P", [0, 1, 0, 1]),
    ],
)
def test_two_rows_of_a_call_that_shrink_a_variance(
    method: str, settings: dict[str, float], field: str, targets: Any
) -> None:
    learner = ob.create(method, backend="numba", **settings).partial_fit(X, targets)
    np.testing.assert_allclose(learner.array(field), 1 / (900000003 + 1e-8), rtol=1e-6)


def test_a_growing_covariance_stays_positive() -> None:
    numba, numpy = (ob.create("rls", backend=b, ridge=1e-8, forgetting_factor=1.01) for b in ("numba", "numpy"))
    np.testing.assert_allclose(numba.partial_fit(X, Y).array("P"), numpy.partial_fit(X, Y).array("P"), rtol=1e-6)


@pytest.mark.parametrize("d", [1, 2, 3, 8, 45])
def test_rows_of_very_different_sizes(d: int) -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, ridge = 3 * d + 40, 10.0 ** rng.uniform(-8, 0)
        rows, targets = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-2, 5, (n, 1)), rng.standard_normal((n, 2))
        inverse = np.linalg.inv(np.linalg.qr(np.vstack([rows, np.sqrt(ridge) * np.eye(d)]), mode="r"))
        with warnings.catch_warnings():
            warnings.simplefilter("error", ob.AccuracyWarning)
            try:
                P = ob.create("rls", backend="numba", ridge=ridge).partial_fit(rows, targets).array("P")
            except (ob.AccuracyWarning, ob.DivergedError):
                continue
        exact = inverse @ inverse.T
        assert abs(P - exact).max() < 1e-3 * abs(exact).max(), seed


def exact_basis(rows: Any, size: float, step: float) -> Any:
    """The basis (2,) by eq. (13) of the Krasulina paper in 120 digits."""
    with localcontext() as context:
        context.prec = 120
        C, g = [Decimal(size)] * 2, Decimal(step)
        for row in rows:
            y = [Decimal(int(number)) for number in row]
            x = (C[0] * y[0] + C[1] * y[1]) / (C[0] ** 2 + C[1] ** 2)
            gain = g / (1 + g * x * x)
            C = [c + gain * (number - c * x) * x for c, number in zip(C, y, strict=True)]
        return np.array([float(c) for c in C])


@pytest.mark.parametrize(("size", "error"), [(1e-2, 1e-12), (1e-3, 1e-11), (1e-4, 1e-9)])
def test_rows_nearly_in_the_span_of_a_small_basis(size: float, error: float) -> None:
    rows = np.eye(2)[[1, 0, 1, 1, 0, 0, 0, 1] * 8]
    settings = {"n_components": 1, "step_size": 0.1, "initial_basis": [[size], [size]]}
    learner = ob.create("implicit_krasulina", backend="numba", **settings).partial_fit(rows)
    exact = exact_basis(rows, size, 0.1)
    assert abs(learner.array("basis").ravel() - exact).max() < error * abs(exact).max()


@pytest.mark.parametrize("ridge", [1e-4, 1e-7, 1e-9, 1e-10])
def test_predictions_of_ridge_before_each_row_with_a_weak_prior(ridge: float) -> None:
    y = 1 + 0.1 * np.random.default_rng(0).standard_normal(32)
    means = np.array([y[:i].sum() / (i + ridge) for i in range(32)])
    learner = ob.create("ridge", backend="numba", ridge=ridge).partial_fit([[0.0]], [0.0])
    np.testing.assert_allclose(learner.prequential(np.ones((32, 1)), y), means, atol=1e-8)
