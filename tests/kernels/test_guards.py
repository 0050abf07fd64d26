"""Precision guards that the kernels of several backends share."""

import numpy as np
import pytest

from orfit_bench.kernels import guards

RNG = np.random.default_rng(0)

FORGETTING = guards.forgetting_limits(0.9, np.dtype(float))


def test_finite_numbers_whose_sum_of_squares_overflows_are_finite():
    assert guards.is_finite(np.array([1e200, -1e200]))
    assert not guards.is_finite(np.array([1.0, np.nan]))
    assert not guards.is_finite(np.array([np.inf]))


@pytest.mark.parametrize("q", [1, 3])
def test_the_factor_of_an_innovation_covariance_is_its_cholesky_factor(q):
    A = RNG.standard_normal((q, 5))
    S = A @ A.T + np.eye(q)
    L = guards.factor_innovation(S, guards.noise_pivots(np.eye(q)))
    np.testing.assert_allclose(L @ L.T, S, rtol=1e-14)


@pytest.mark.parametrize("q", [1, 3])
@pytest.mark.parametrize("variance", [0.5, -1.0, np.nan])
def test_a_variance_below_that_of_the_noise_has_no_factor(q, variance):
    S = np.eye(q)
    S[-1, -1] = variance
    assert guards.factor_innovation(S, np.ones(q)) is None


def test_noise_of_two_equal_rows_is_singular():
    assert guards.is_singular(np.ones((2, 2)))
    assert guards.is_singular(np.zeros((1, 1)))
    assert not guards.is_singular(np.eye(2))


@pytest.mark.parametrize(
    ("variance", "degraded", "exhausted"), [(1.0, False, False), (1e12, True, False), (1e15, True, True)]
)
def test_a_large_variance_reduced_to_that_of_the_noise_loses_digits(variance, degraded, exhausted):
    P, J, R = variance * np.eye(2), np.array([[1.0, 0.0]]), np.ones((1, 1))
    S = J @ P @ J.T + R
    found = guards.measure_precision(np.diagonal(P), J, S, np.linalg.cholesky(S), np.ones(1), FORGETTING)
    assert found == guards.Precision(degraded, exhausted)


def test_forgetting_tolerates_a_smaller_error():
    assert guards.max_error(0.99) < guards.max_error(1.0) == 1


def test_squares_that_overflow_or_underflow_are_not_normal():
    assert guards.is_normal(np.float64(1.0))
    assert not guards.is_normal(np.float64(np.inf))
    assert not guards.is_normal(np.float64(0.0))
    assert not guards.is_normal(np.float64(1e-300))


def test_variances_near_the_largest_number_are_refused():
    V, limits = np.zeros((1, 2)), guards.forgetting_limits(0.5, np.dtype(float))
    assert guards.keeps_variances_finite(np.eye(2), V, limits)
    with np.errstate(over="ignore"):
        assert not guards.keeps_variances_finite(1e308 * np.eye(2), V, limits)
    assert not guards.keeps_variances_finite(np.nan * np.eye(2), V, limits)


def test_covariance_without_correct_digits_has_no_factor():
    J, R = np.array([[1.0, 0.0]]), np.ones((1, 1))
    for variance, degraded in ((1.0, False), (1e12, True)):
        P = variance * np.eye(2)
        factor = guards.factor_covariance(np.diagonal(P), J, J @ P @ J.T + R, R, FORGETTING)
        assert factor is not None
        assert factor.degraded == degraded
    P = 1e15 * np.eye(2)
    assert guards.factor_covariance(np.diagonal(P), J, J @ P @ J.T + R, R, FORGETTING) is None


def test_what_two_rows_regain_together_is_less_than_what_each_of_them_regains():
    R, along = np.eye(2), np.full((2, 2), 1e4)
    np.testing.assert_allclose(guards.remaining_variances(np.ones(2), R, None), [1, 1])
    np.testing.assert_allclose(guards.remaining_variances(np.ones(2), R, along), [1e4 + 1, (2e4 + 1) / (1e4 + 1)])


def test_noise_that_rounding_makes_singular_remains():
    np.testing.assert_array_equal(guards.remaining_variances(np.ones(2), np.eye(2), np.full((2, 2), 1e40)), [1, 1])


def test_a_row_finds_what_the_rows_of_its_step_have_reduced():
    S = np.array([[101.0, 100.0], [100.0, 101.0]])  # two equal rows of variance 100 with noise 1
    L = np.linalg.cholesky(S)
    pivots = np.array([101, 101 - 100**2 / 101])
    np.testing.assert_allclose(guards.reductions(np.full(2, 100.0), L, np.ones(2)), [101, 100 / pivots[1]])


def test_a_step_leaves_of_all_variances_what_the_noise_leaves():
    L = np.linalg.cholesky([[101.0, 100.0], [100.0, 101.0]])
    assert guards.joint_reduction(L, np.array([50.5, 1.0])) == pytest.approx(101)
