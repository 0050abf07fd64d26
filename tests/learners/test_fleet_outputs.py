"""Fleets with several outputs, with gaps and with motions of every kind equal single learners."""

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.learners.fleets.factory import stack

N, D = 4, 5
SETTINGS = {
    "lms": {"step_size": 0.05},
    "nlms": {"eps": 0.1},
    "apa": {"projection_order": 3, "eps": 0.01},
    "rls": {"forgetting_factor": 0.98},
    "ridge": {"forgetting_factor": 1.01},
    "kalman": {"transition": 0.9, "process_noise": 0.1},
}
rng = np.random.default_rng(0)
MOTIONS = {
    "numbers": [{"transition": 0.9 + 0.02 * i, "process_noise": 0.1 * i} for i in range(N)],
    "diagonals": [{"transition": np.linspace(0.5, 1, D) - 0.1 * i} for i in range(N)],
    "matrices": [{"process_noise": A @ A.T / D + 0.1} for A in rng.standard_normal((N, D, D))],
    "different kinds": [{}, {"transition": 0.9}, {"transition": np.eye(D)[::-1]}, {"process_noise": np.arange(1.0, 6)}],
}


def assert_equal(fleet, alone):
    for member, learner in zip(fleet, alone, strict=True):
        got, want = member.state(), learner.state()
        for name in want:
            scale = 1 + abs(want[name].values).max(initial=0)
            np.testing.assert_allclose(got[name], want[name], rtol=0, atol=1e-10 * scale, err_msg=name)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("method", SETTINGS)
def test_several_outputs(method, backend):
    X, Y = np.random.default_rng(1).standard_normal((N, 9, D)), np.random.default_rng(2).standard_normal((N, 9, 2))
    alone = [ob.create(method, backend=backend, **SETTINGS[method]) for _ in range(N)]
    fleet = ob.fleet(method, N, backend=backend, **SETTINGS[method])
    for part in (slice(0, 2), slice(2, 4), slice(4, 5), slice(5, 9)):
        predictions = fleet.prequential(X[:, part], Y[:, part])
        for f, learner, x, y in zip(predictions, alone, X[:, part], Y[:, part], strict=True):
            np.testing.assert_allclose(f, learner.prequential(x, y), atol=1e-10)
        assert_equal(fleet, alone)
    X[1, 1], Y[1, 1:3] = 100 * X[1, 1], [[1.7e308, 1], [-1.7e308, 1]]
    stopped = []
    for i, (learner, x, y) in enumerate(zip(alone, X, Y, strict=True)):
        try:
            learner.partial_fit(x, y)
        except ob.DivergedError:
            stopped.append(i)
    if stopped:
        with pytest.raises(ob.DivergedError) as caught:
            fleet.partial_fit(X, Y)
        assert list(caught.value.members) == stopped
    else:
        fleet.partial_fit(X, Y)
    assert fleet.n_samples_seen_.tolist() == [learner.n_samples_seen_ for learner in alone]


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("motion", MOTIONS)
def test_filters_with_gaps(motion, backend):
    X, y = np.random.default_rng(3).standard_normal((N, 9, D)), np.random.default_rng(4).standard_normal((N, 9))
    y[0, 0] = y[2, 3] = y[3, 8] = np.nan
    alone = [ob.create("kalman", backend=backend, observation_noise=0.2, **own) for own in MOTIONS[motion]]
    fleet = stack(alone)
    for part in (slice(0, 1), slice(1, 9)):
        predictions = fleet.prequential(X[:, part], y[:, part])
        for f, learner, x, target in zip(predictions, alone, X[:, part], y[:, part], strict=True):
            np.testing.assert_allclose(f, learner.prequential(x, target), atol=1e-10)
    assert_equal(fleet, alone)
    which = np.array([2, 0, 2])
    fleet.partial_fit(X[0, :3], y[1, :3], which=which)
    for i, x, target in zip(which, X[0], y[1], strict=False):
        alone[i].partial_fit(x[None], [target])
    assert_equal(fleet, alone)
