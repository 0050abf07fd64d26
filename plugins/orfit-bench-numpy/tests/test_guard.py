"""Precision guards of the reference kernels."""

import numpy as np

from orfit_bench_numpy import _guard as guard


def test_a_square_at_the_ends_of_the_range_is_not_normal():
    assert guard.is_normal(np.float64(1.0))
    assert not guard.is_normal(np.float64(np.inf))
    assert not guard.is_normal(np.float64(0.0))
    assert not guard.is_normal(np.float64(1e-300))


def test_a_covariance_near_the_largest_number_is_not_representable():
    w, V = np.zeros((2, 1)), np.zeros((1, 2))
    assert guard.is_representable(w, np.eye(2), V, 0.5)
    with np.errstate(over="ignore"):
        assert not guard.is_representable(w, 1e308 * np.eye(2), V, 0.5)
    assert not guard.is_representable(w, np.nan * np.eye(2), V, 0.5)
    assert not guard.is_representable(np.inf + w, np.eye(2), V, 0.5)


def test_the_factor_of_a_covariance_without_digits_is_refused():
    J, R = np.array([[1.0, 0.0]]), np.ones((1, 1))
    for variance, degraded in ((1.0, False), (1e12, True)):
        P = variance * np.eye(2)
        factor = guard.factor_covariance(P, J, J @ P @ J.T + R, R, 0.01)
        assert factor is not None
        assert factor.degraded == degraded
    P = 1e15 * np.eye(2)
    assert guard.factor_covariance(P, J, J @ P @ J.T + R, R, 0.01) is None
