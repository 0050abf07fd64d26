"""Digits of results that a filter does not store: smoothed moments and log densities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.decimals import decimals, solve
from helpers.filters import moments, stated

import orfit_bench as ob
from orfit_bench.learners.filtering.rounding import (
    CloseEstimate,
    FilteredRows,
    QuickEstimate,
    error_of_density,
    error_of_means,
    most_deviations,
)

TREND: dict[str, Any] = {
    "transition": [[1.0, 0.3], [0.0, 1.0]],
    "process_noise": [[0.0332, -0.0312], [-0.0312, 0.0488]],
    "initial_covariance": 1e4,
    "observation_noise": 0.01,
}
"""A level and a drift whose first variances are 1e6 times that of the noise."""


def rows_in_turn(n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    return np.eye(2)[np.arange(n) % 2], np.round(10 * rng.standard_normal(n)).astype(np.float32)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("form", ["covariance", "square_root"])
@pytest.mark.parametrize("seen", [0, 1])
def test_float32_answers_with_all_of_its_digits(backend: str, form: str, seen: int) -> None:
    """With a filter in float32, smoothed means were a tenth of a deviation off."""
    X, y = rows_in_turn(40)
    single = {name: np.float32(value) for name, value in TREND.items()}
    found = []
    for dtype in ("float64", "float32"):
        learner = ob.create("kalman", form=form, dtype=dtype, backend=backend, **single)
        if seen:  # the numbers after this row are exact in float32
            learner.partial_fit([[0.0, 0.0]], [1.0])
        smoothed = learner.smooth(X, y)
        assert {a.dtype for a in smoothed.variables.values() if a.ndim > 1} == {np.dtype(dtype)}
        found.append((smoothed["mean"].values, smoothed["covariance"].values, learner.log_likelihood(X, y)))
    for exact, other in zip(*found, strict=True):
        np.testing.assert_allclose(other, exact, rtol=1e-5, atol=1e-5)


def test_moments_that_float32_does_not_have_are_refused() -> None:
    given: dict[str, Any] = {"initial_covariance": 1e30, "transition": 1e3, "dtype": "float32"}
    X, y = np.array([[0.0, 1.0]] * 4), np.full(4, np.nan)
    learner = ob.create("kalman", **given)
    before = learner.to_bytes()
    with pytest.raises(ob.DivergedError) as info:
        learner.smooth(X, y)
    assert (info.value.step, info.value.row) == (3, 2)  # 1e30, 1e36, 1e42, ...
    assert learner.to_bytes() == before
    assert np.isfinite(learner.smooth(X[:2], y[:2])["covariance"]).all()


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("others", [0, 55])
def test_smoothed_variances_are_sums_of_squares(backend: str, others: int) -> None:
    """States that decay at different rates and are moved along one direction; only a sum of some of them is seen.

    One triangle of a product was mirrored on Numba, which gives small variances errors of the large ones: deviations
    were 1e-4 off.
    """
    f, moved = np.array([0.9, 0.5, 1.1, 1.0, 0.5]), np.array([7, 12, 9, -2, -1]) / 256
    Q = 0.01 * np.eye(5 + others)
    Q[:5, :5] = np.outer(moved, moved)
    X = np.zeros((20, 5 + others))
    X[:, :5] = [0.25, 0.625, -1.1875, -0.8125, -1.9375]
    F = np.append(f, np.full(others, 0.9))
    settings: dict[str, Any] = {"initial_covariance": 0.1, "process_noise": Q, "observation_noise": 1e-3}
    found = ob.create("kalman", backend=backend, transition=F, **settings).smooth(X, np.zeros(20))["covariance"].values
    want = first_variances(f, moved, 0.1, X[:, :5], 1e-3)
    np.testing.assert_allclose(np.sqrt(np.diagonal(found[0])[:5]), np.sqrt(want), rtol=1e-6)


def first_variances(f: Any, moved: Any, first: float, X: Any, noise: float) -> Any:
    """Variances of the first state given all rows, with 90 digits: y_t = x_t' f^t theta + the moves so far + noise."""
    n, d = X.shape
    H = decimals(X * np.stack([f**t for t in range(n)]))
    M = decimals([[X[t] @ (f ** (t - j) * moved) if j <= t else 0 for j in range(1, n)] for t in range(n)])
    information = H.T @ solve(M @ M.T + decimals(noise * np.eye(n)), H) + decimals(np.eye(d) / first)
    return np.diagonal(solve(information, decimals(np.eye(d))).astype(float))


def test_a_density_of_contradicting_targets_is_warned_of() -> None:
    """The second row is known up to an error of 2e-6 of its variance, and its target is 300 deviations away."""
    given: dict[str, Any] = {
        "initial_covariance": 1e7,
        "observation_noise": 1e-3,
        "transition": [[0.0, 1.0], [1.0, 0.0]],
    }
    X, near, far = np.array([[0.0, 1.0], [1.0, 0.0]] * 10), np.zeros(20), np.tile([0.0, 18.0], 10)
    for form, y, count in (("covariance", near, 0), ("covariance", far, 1), ("square_root", far, 0)):
        learner = ob.create("kalman", form=form, **given)
        texts = stated(lambda learner=learner, y=y: learner.log_likelihood(X, y))
        assert len(texts) == count
        assert all("half of the digits" in text for text in texts)


def test_means_that_the_filter_left_inaccurate_are_warned_of() -> None:
    X, given = np.array([[1.0]] * 3), {"initial_covariance": 1e6, "observation_noise": 1e-2, "process_noise": 1e-3}
    assert not stated(lambda: ob.create("kalman", **given).smooth(X, [0.0, 0.0, 0.0]))
    assert len(stated(lambda: ob.create("kalman", **given).smooth(X, [0.0, 1e3, 0.0]))) == 1


def test_rows_of_one_step_lose_digits_together() -> None:
    """Three rows of one parameter leave 5e-4, 3e-4 and nearly all of the variance before each, in all 1.5e-7."""
    A, noise = np.array([[0.0625], [-3.4375], [0.375]]), np.array([0.019, 0.018, 0.039])
    learner = ob.create("kalman", dtype="float32", initial_covariance=1e4)
    assert len(stated(lambda: learner.step(A, [-0.5, 12.5, -1.4], observation_noise=noise))) == 1
    assert moments(ob.create("kalman").step(A, [-0.5, 12.5, -1.4], observation_noise=noise))[1] < 2e-3


def filtered(J: Any, parameters: Any, variances: Any) -> FilteredRows:
    """The filter's results for rows J, for these variances of the parameters and of the forecasts, and noise 1."""
    n, p = J.shape
    P = np.stack([np.diag(row) for row in parameters]) if n else np.zeros((0, p, p))
    return FilteredRows([np.eye(p)] * n, P, parameters, parameters / 2, J, np.zeros((n, 1)), variances, np.ones(n))


def test_errors_of_forecasts_are_measured_by_what_rows_left_behind() -> None:
    eps, errors = float(np.finfo(float).eps), QuickEstimate(2)
    J = np.array([[10.0, 0.0], [10.0, 10.0], [10.0, 10.0]])
    variances = np.array([[100.0, 1.0], [4.0, 9.0], [1.0, 9.0]])
    found = errors.of_rows(filtered(J, variances, np.array([1.0, 2.0, 10.0])))
    # the first row leaves errors of 100; the second one halves them, as it does the deviation
    half = (10 * np.sqrt(50) + 30) ** 2
    np.testing.assert_allclose(found, [eps * 1e4, eps * (100 + 30) ** 2 / 2, eps * half / 10])
    np.testing.assert_allclose(errors.of_rows(filtered(J[2:], variances[2:], np.ones(1))), [eps * half])
    assert not errors.of_rows(filtered(J[2:], variances[2:], np.full(1, 250.0))).any()  # 41 eps, as for any sum
    assert not len(errors.of_rows(filtered(J[:0], variances[:0], np.ones(0))))


def test_errors_of_covariances_move_as_covariances_do() -> None:
    """The error of a variance does not affect others until a transition or a correlated row mixes them."""
    eps, estimate, e = float(np.finfo(float).eps), CloseEstimate(2, np.dtype(float)), np.eye(2)
    estimate.correct(e[:1], e[:, :1] / 2, np.array([100.0, 0.0]))
    np.testing.assert_allclose(estimate.along(e), [100 * eps, 0])
    estimate.correct(e[:1], e[:, :1] / 2, np.array([100.0, 0.0]))  # leaves a quarter of it, and as much as before
    np.testing.assert_allclose(estimate.along(e), [125 * eps, 0])
    assert estimate.largest(np.array([0.5, 0.0])) == pytest.approx(250 * eps)
    estimate.move(np.array([[0.0, 0.0], [3.0, 0.0]]), np.array([2.0, 0.0]), np.array([0.0, 30.0]))
    np.testing.assert_allclose(estimate.along(e), [0, (9 * 125 + 30) * eps])
    estimate.correct(np.array([[0.0, 1.0]]), np.array([[2.0], [1.0]]), np.zeros(2), has_noise=False)
    np.testing.assert_allclose(estimate.along(e), [4 * (9 * 125 + 30) * eps, 0])


def test_estimates_go_on_from_part_to_part() -> None:
    rng = np.random.default_rng(0)
    rows = filtered(rng.standard_normal((6, 3)), rng.uniform(1, 2, (6, 3)), np.full(6, 5.0))
    moves = list(rng.standard_normal((6, 3, 3)))
    rows = rows._replace(transitions=lambda: moves)
    rows.E[2] = np.nan
    once, parts = CloseEstimate(3, np.dtype(float)), CloseEstimate(3, np.dtype(float))
    want, largest = once.of_rows_and_variances(rows)
    found = [
        parts.of_rows(FilteredRows(lambda part=part: moves[part], *(a[part] for a in rows[1:])))
        for part in (slice(0, 2), slice(2, 6))
    ]
    np.testing.assert_array_equal(np.concatenate(found), want)
    assert want[2] == 0
    assert (want[[0, 1, 3, 4, 5]] > 0).all()
    assert largest > want.max()


@pytest.mark.parametrize("terms", [2, 3])
def test_growing_columns_are_no_reason_for_a_warning(terms: int) -> None:
    """A random-walk level and powers of the time; the smoothed moments are right to 12 digits."""
    t = np.arange(300.0)
    X, y = t[:, None] ** np.arange(terms), 0.01 * t + np.random.default_rng(0).standard_normal(300)
    learner = ob.create(
        "kalman", process_noise=[0.1] + [0.0] * (terms - 1), initial_covariance=[1.0, 1e6, 1e4][terms - 1]
    )
    assert not stated(lambda: learner.smooth(X, y))
    assert not stated(lambda: learner.log_likelihood(X, y))


@pytest.mark.parametrize("form", ["covariance", "square_root"])
@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_rows_of_float32_without_noise_depend_on_each_other(backend: str, form: str) -> None:
    """The third row is a sum of two up to rounding, and adds no information."""
    rows = np.array([[1.0, 0.2, 0.3], [0.1, 1.0, -0.4]])
    X = np.vstack([rows, 0.5 * rows[0] + 0.3 * rows[1]])
    y = X @ [1.0, 2.0, 3.0]
    given: dict[str, Any] = {"form": form, "backend": backend, "observation_noise": 0.0}
    want = ob.create("kalman", **given).smooth(X, y)["mean"].values
    for seen in (0, 2):
        learner = ob.create("kalman", dtype="float32", **given)
        if seen:
            learner.partial_fit(X[:2], y[:2])
        np.testing.assert_allclose(learner.smooth(X[seen:], y[seen:])["mean"].values[-1], want[-1], rtol=1e-4)


@pytest.mark.parametrize("seed", [0, 25])
@pytest.mark.parametrize("seen", [0, 2])
def test_known_directions_of_float32_stay_known(seed: int, seen: int) -> None:
    """Rounding of a covariance of one direction does not count as variance in other directions."""
    rng = np.random.default_rng(seed)
    X, y, g = rng.standard_normal((12, 4)), rng.standard_normal(12), rng.standard_normal(4)
    given: dict[str, Any] = {"process_noise": np.outer(g, g), "initial_covariance": 0.0, "observation_noise": 0.1}
    F, smoothed = rng.uniform(0.5, 1, 4), []
    for dtype in ("float64", "float32"):
        learner = ob.create("kalman", backend="numpy", dtype=dtype, transition=F, **given).partial_fit(
            X[:seen], y[:seen]
        )
        stated(lambda learner=learner: smoothed.append(learner.smooth(X[seen:8], y[seen:8])))
    for name in ("mean", "covariance"):
        np.testing.assert_allclose(smoothed[1][name], smoothed[0][name], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("form", ["covariance", "square_root"])
@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_a_known_parameter_spoils_no_small_variance(backend: str, form: str) -> None:
    """Four parameters with deviations of 1 to 1e-8 move together; a fifth is known, so P has no Cholesky factor."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        size = 10.0 ** -rng.permutation([0, 3, 5, 8])
        G = rng.standard_normal((2, 4, 4)) * size[:, None]
        turn = 0.9 * np.linalg.qr(rng.standard_normal((4, 4)))[0]
        given = {
            "transition": size[:, None] * turn / size,
            "process_noise": 0.1 * G[0] @ G[0].T,
            "initial_covariance": G[1] @ G[1].T,
        }
        X, y = rng.standard_normal((8, 4)) / size, rng.standard_normal(8)
        wider = {name: np.pad(a, (0, 1)) for name, a in given.items()}
        found, want = (
            ob.create("kalman", form=kind, backend=backend, **settings).smooth(rows, y)["covariance"].values
            for kind, settings, rows in ((form, wider, np.pad(X, ((0, 0), (0, 1)))), ("covariance", given, X))
        )
        variances = (np.diagonal(a, axis1=1, axis2=2)[:, :4] for a in (found, want))
        np.testing.assert_allclose(*variances, rtol=1e-8)


@pytest.mark.parametrize("form", ["covariance", "square_root"])
def test_densities_of_rows_with_their_own_noise_agree(form: str) -> None:
    """On Numba, the rows from the first without noise on, and all in the square-root form, are filtered one by one."""
    X, y = np.array([[1, 0.5], [0.3, 1], [0.2, 0.1]]), np.array([1.0, 2.0, 3.0])
    for noise in ([1.0, 2.0, 1.0], [1.0, 0.0, 1.0]):
        found = [
            ob.create("kalman", form=form, backend=b).log_likelihood(X, y, observation_noise=noise)
            for b in ("numpy", "numba")
        ]
        np.testing.assert_allclose(found[1], found[0], rtol=1e-12)
    noise, far = np.ones(3), np.array([1.0, 1e200, 1.0])
    with pytest.raises(ob.DivergedError) as info:
        ob.create("kalman", form=form).log_likelihood(X, y, observation_noise=noise, transition=far)
    assert info.value.row == 1


def test_errors_of_variances_count_as_much_as_targets_contradict_them() -> None:
    relative, E, variances = np.array([1e-3, 2e-3]), np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([1.0, 5.0])
    assert error_of_density(relative, E, variances) == pytest.approx((1e-3 * (2 + 25) + 2e-3 * 2) / 2)
    assert error_of_means(relative, E, variances) == pytest.approx(1e-3 * np.sqrt(26))
    assert error_of_means(relative[:0], E[:0], variances[:0]) == 0
    assert most_deviations(np.dtype("float32")) == pytest.approx(0.00246, rel=1e-2)


def test_a_refused_division_is_explained() -> None:
    """The transition shrinks a direction by 0.035 at each step, so that the predicted covariance loses its digits."""
    F = np.array([[1.10, -0.38], [1.18, -0.43]])
    X, y = np.random.default_rng(0).standard_normal((2, 8, 2))[0], np.ones(8)
    kalman = ob.create("kalman", backend="numpy", form="square_root", transition=F)
    with pytest.raises(ob.DivergedError) as info, pytest.warns(ob.AccuracyWarning):
        kalman.smooth(X, y)
    assert "smooth divides by the covariance predicted for each row" in info.value.__notes__[0]
    assert kalman.partial_fit(X, y).n_samples_seen_ == 8


@pytest.mark.parametrize("form", ["covariance", "square_root"])
def test_one_row_is_smoothed_without_a_division(form: str) -> None:
    X, y = np.array([[1.0, 2.0], [2.0, -1.0], [1.0, 1.0], [-1.0, 2.0]] * 2), np.ones(8)
    kalman = ob.create("kalman", form=form, transition=[[0.8, 0.6], [0.04, 0.0]]).partial_fit(X[:7], y[:7])
    found = kalman.smooth(X[7:], y[7:])
    after = kalman.partial_fit(X[7:], y[7:]).state()
    np.testing.assert_allclose(found["mean"][0], after["mean"], rtol=1e-12)
    np.testing.assert_allclose(found["covariance"][0], after["covariance"], rtol=1e-9)
