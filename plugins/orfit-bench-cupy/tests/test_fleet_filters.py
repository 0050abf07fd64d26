"""Fleets of filters of the CuPy backend on the stand-in: every kind of motion, missing targets, rows for the host."""

import shutil

import numpy as np
import pytest

import orfit_bench as ob

pytestmark = pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler")
N = 6


def motions(d):
    """Settings of filters with d features, by the kind of their entries."""
    rng = np.random.default_rng(d)
    turns = [0.7 * np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(N)]
    noises = [(A @ A.T).round(3) / d for A in rng.standard_normal((N, d, d))]
    return {
        "at rest": {},
        "numbers": {"transition": 0.9, "process_noise": [0.01 * i for i in range(N)]},
        "diagonals": {"transition": np.linspace(0.5, 1.0, d), "process_noise": np.linspace(0.0, 0.1, d)},
        "matrices": {"transition": turns, "process_noise": noises[0]},
        "noise by matrices": {"process_noise": noises},
        "different kinds": {"transition": [0.9, 1.0, *turns[2:]], "process_noise": [0.0, 0.1, *noises[2:]]},
    }


def learned(backend, settings, d, r, noise):
    rng = np.random.default_rng(0)
    fleet = ob.fleet("kalman", N, backend=backend, observation_noise=noise, **settings)
    for n in (1, 9):
        X = rng.standard_normal((N, n, d))
        y = rng.standard_normal((N, n, r))
        y[2, n // 2] = y[4, 0] = np.nan
        predictions = fleet.prequential(X, y)
    return fleet.state(), predictions


@pytest.mark.parametrize("r", [1, 2])
@pytest.mark.parametrize("d", [1, 4, 50])  # 50: P lies in global memory, as its predictions do
@pytest.mark.parametrize("kind", motions(2))
def test_filters_equal_those_of_numba(in_place, kind, d, r):
    settings = motions(d)[kind]
    (ours, f), (theirs, want) = (learned(b, settings, d, r, 0.1) for b in (in_place, "numba"))
    np.testing.assert_allclose(f, want, rtol=0, atol=1e-11 * abs(want).max())
    for name in theirs.data_vars:
        a, b = ours[name].values, theirs[name].values
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-11 * (1 + abs(b).max(initial=0)), err_msg=name)
    P = ours["covariance"].values
    assert np.array_equal(P, P.transpose(0, 2, 1))


def test_filters_without_noise_learn_on_the_host(in_place):
    settings = {"transition": [0.5 * np.eye(3)] * (N - 1) + [np.eye(3)]}
    (ours, f), (theirs, want) = (learned(b, settings, 3, 1, [0.1] * (N - 1) + [0.0]) for b in (in_place, "numba"))
    np.testing.assert_allclose(f, want, atol=1e-12)
    np.testing.assert_allclose(ours["covariance"].values, theirs["covariance"].values, atol=1e-12)


def test_a_transition_refuses_what_a_state_at_rest_accepts(in_place):
    X, y = np.ones((2, 2, 2)), np.ones((2, 2))
    settings = {"initial_covariance": 1e14, "transition": [0.999, 1.0], "observation_noise": 1.0}
    for backend in (in_place, "numba"):  # half of the digits are lost along (1, 1), and some 98 % of them
        fleet = ob.fleet("kalman", 2, backend=backend, **settings)
        with pytest.warns(ob.AccuracyWarning), pytest.raises(ob.DivergedError) as caught:
            fleet.partial_fit(X, y)
        assert caught.value.members == (0,)
