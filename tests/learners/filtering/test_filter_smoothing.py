"""The Rauch-Tung-Striebel smoother."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
from helpers.filters import GIVEN, Same, X, cut, moments, pendulum, slope, y

import orfit_bench as ob
from orfit_bench.catalogue.shared.gaussian_states import condition_on_rows as conditioned
from orfit_bench.catalogue.shared.gaussian_states import joint_prior as prior

# ---------------------------------------------------------------------- smoothing


def test_smoothing_changes_nothing_and_names_its_steps(same_state: Same) -> None:
    learner = ob.create("kalman", process_noise=0.1).partial_fit(X[:4], y[:4])
    before = learner.copy()
    found = learner.smooth(X[4:], y[4:], **cut(GIVEN, slice(4, None)))
    same_state(learner, before)
    assert found["mean"].dims == ("step", "parameter", "output")
    assert found["covariance"].dims == ("step", "parameter", "parameter_2")
    assert found["step"].values.tolist() == [5, 6, 7, 8, 9]
    assert learner.partial_fit(X[4:], y[4:]).n_samples_seen_ == 9
    fresh = ob.create("kalman")
    fresh.smooth(X, y)
    same_state(fresh, ob.create("kalman"))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("seen", [0, 4])
def test_smoothing_no_row_and_one_row(seen: int, dtype: str) -> None:
    learner = ob.create("kalman", dtype=dtype, transition=0.9, process_noise=0.1)
    if seen:
        learner.partial_fit(X[:seen], y[:seen])
    none = learner.smooth(X[:0], y[:0], **cut(GIVEN, slice(0)))
    assert none["mean"].shape == (0, 3, 1)
    assert none["covariance"].shape == (0, 3, 3)
    assert none["step"].shape == (0,)
    one = learner.smooth(X[5:6], y[5:6], **cut(GIVEN, slice(5, 6)))
    learner.partial_fit(X[5:6], y[5:6], **cut(GIVEN, slice(5, 6)))
    for found, want in zip((one["mean"], one["covariance"]), moments(learner), strict=True):
        np.testing.assert_allclose(found[0], want, rtol=0 if dtype == "float64" else 1e-6)
    assert {one["mean"].dtype, none["covariance"].dtype} == {np.dtype(dtype)}


def test_the_last_smoothed_state_is_the_filtered_one() -> None:
    found = ob.create("kalman").smooth(X, y, **GIVEN)
    mean, P = moments(ob.create("kalman").partial_fit(X, y, **GIVEN))
    np.testing.assert_array_equal(found["mean"][-1], mean)
    np.testing.assert_array_equal(found["covariance"][-1], P)
    for P in found["covariance"].values:
        np.testing.assert_array_equal(P, P.T)


def test_smoothing_from_a_state_with_rows_seen() -> None:
    """The result has the states from then on; earlier rows only determine the start."""
    learner = ob.create("kalman", initial_covariance=3.0).partial_fit(X[:4], y[:4], **cut(GIVEN, slice(4)))
    found = learner.smooth(X[4:], y[4:], **cut(GIVEN, slice(4, None)))
    all_at_once = ob.create("kalman", initial_covariance=3.0).smooth(X, y, **GIVEN)
    np.testing.assert_allclose(found["mean"], all_at_once["mean"][4:], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found["covariance"], all_at_once["covariance"][4:], rtol=1e-12, atol=1e-14)


def test_at_rest_every_smoothed_state_is_the_last() -> None:
    rows = np.vstack([np.eye(3)[0], 1e-5 * X])
    found = ob.create("kalman", observation_noise=1e-6).smooth(rows, np.append(1.0, y))
    for name in ("mean", "covariance"):
        for value in found[name].values:
            np.testing.assert_allclose(value, found[name].values[-1], rtol=1e-9, atol=1e-13)


def test_smoothing_of_exactly_known_states() -> None:
    """A predicted covariance without an inverse: by the pseudo-inverse, known directions are not changed."""
    start = {"initial_covariance": [1, 0, 2], "transition": GIVEN["transition"][0], "observation_noise": 0.0}
    found = ob.create("kalman", **start).smooth(X[:4], y[:4])
    mean, F = np.zeros((3, 1)), np.tile(start["transition"], (4, 1, 1))
    rows = [(i, X[i : i + 1], y[i : i + 1, None], np.full((1, 1), 1e-13)) for i in range(2)]  # then all is known
    want = conditioned(prior(F, np.zeros((4, 3, 3)), mean, np.diag([1.0, 0, 2])), rows)
    np.testing.assert_allclose(found["mean"], want.mean, atol=1e-9)
    assert abs(found["covariance"].values).max() < 1e-9


def test_smoothing_with_functions_is_that_of_their_slopes() -> None:
    matrix = GIVEN["transition"][0]
    turn = (lambda w: matrix @ w, lambda w: matrix)
    got = ob.create("kalman", transition=turn, process_noise=0.1).smooth(X, y)
    want = ob.create("kalman", transition=matrix, process_noise=0.1).smooth(X, y)
    np.testing.assert_allclose(got["mean"], want["mean"], rtol=1e-11)
    np.testing.assert_allclose(got["covariance"], want["covariance"], rtol=1e-11, atol=1e-14)
    assert np.isfinite(ob.create("kalman", transition=(pendulum, slope)).smooth(X, y)["mean"]).all()


def test_increased_smoothed_variances_cause_a_warning():
    """A transition that mixes known and unknown directions, with steps without noise, compared with 80 digits."""
    rng = np.random.default_rng(89)
    d, n = int(rng.choice([5, 9])), 40
    rows, targets, F = rng.standard_normal((n, d)), rng.standard_normal(n), 0.4 * rng.standard_normal((d, d))
    shaken = np.stack([F @ F.T * rng.integers(2) for _ in range(n)])
    learner = ob.create("kalman", backend="numpy", transition=F, process_noise=0.0, observation_noise=0.1)
    with pytest.warns(ob.AccuracyWarning, match="half of the digits"):
        found = learner.smooth(rows, targets, process_noise=shaken / 2 + shaken.mT / 2)
    assert (np.diagonal(found["covariance"].values, axis1=1, axis2=2) >= 0).all()


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("d", [2, 48, 60])
def test_smoothed_variances_do_not_lose_the_digits_of_a_vague_prior(backend: str, d: int) -> None:
    """Levels with drifts that are unknown at first: the smoothed start is that of least squares.

    Rows of many parameters leave 4 digits of the means, and the smoother warns.
    """
    F, n, vague = np.kron(np.eye(d // 2), [[1.0, 1.0], [0.0, 1.0]]), 200, 1e6
    rows = np.random.default_rng(0).standard_normal((n, d))
    learner = ob.create("kalman", backend=backend, transition=F, initial_covariance=vague)
    with pytest.warns(ob.AccuracyWarning, match="half of the digits") if d > 2 else nullcontext():
        found = learner.smooth(rows, rows @ np.ones(d))
    H = np.stack([rows[t] @ np.linalg.matrix_power(F, t) for t in range(n)])  # of the first state
    scale = np.abs(H).max(axis=0)
    A = np.vstack([H / scale, np.diag(1 / scale) / np.sqrt(vague)])
    R = np.linalg.qr(A, mode="r")
    want = (np.linalg.inv(R) ** 2).sum(axis=1) / scale**2
    variances = np.diagonal(found["covariance"].values, axis1=1, axis2=2)
    np.testing.assert_allclose(variances[0], want, rtol=1e-4)


@pytest.mark.parametrize("form", ["covariance", "square_root"])
@pytest.mark.parametrize("given", [{"observation_noise": np.zeros(0)}, {"control": np.zeros((0, 2))}], ids=str)
def test_no_rows_are_smoothed_with_what_comes_with_rows(form: str, given: dict[str, np.ndarray]) -> None:
    learner = ob.create("kalman", form=form, transition=0.9 * np.eye(2), process_noise=0.1)
    assert learner.smooth(np.zeros((0, 2)), np.zeros(0), **given).sizes["step"] == 0
