"""States that move, row by row on the device, compared with the reference."""

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench_cupy import kalman
from orfit_bench_cupy._smoother import smooth
from orfit_bench_numpy import kalman as reference

from .conftest import IN_PLACE

D, N = 6, 20
rng = np.random.default_rng(0)
X, Y = rng.standard_normal((N, D)), rng.standard_normal((N, 2))
Y[5::7] = np.nan
TURN = np.eye(D) + 0.1 * rng.standard_normal((D, D))
SETTINGS = {
    "number": {"transition": 0.9},
    "matrix": {"transition": 0.2 * TURN, "process_noise": np.cov(TURN)},
    "diagonal noise": {"process_noise": np.linspace(0.1, 1, D)},
    "noise and diagonal": {"transition": np.linspace(0.5, 1, D), "process_noise": 0.1},
}
VARYING = {
    "nothing": {},
    "transitions": {"transition": np.linspace(0.5, 1, N), "observation_noise": np.linspace(1, 2, N)},
    "matrices": {"transition": 0.3 * np.stack([TURN] * N), "process_noise": np.linspace(0, 1, N)},
}


@pytest.fixture
def device(in_place, monkeypatch):
    """The backend, with a lower limit from which features count as many."""
    monkeypatch.setattr(kalman, "MIN_FEATURES", 1)
    monkeypatch.delattr(kalman, "learn_on_host")
    return in_place


def close(got, want):
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-11 * np.abs(want).max(initial=0))


@pytest.mark.parametrize(
    ("given", "varying"),
    [*((given, "nothing") for given in SETTINGS), ("number", "transitions"), ("number", "matrices")],
)
def test_rows_leave_what_they_leave_on_the_host(device, given, varying):
    learners = [ob.create("kalman", backend=b, observation_noise=0.5, **SETTINGS[given]) for b in (device, "numpy")]
    mine, other = (learner.backend.asnumpy(learner.prequential(X, Y, **VARYING[varying])) for learner in learners)
    close(mine, other)
    same(*learners)


def same(mine, other):
    a, b = mine.state(), other.state()
    for name in b.data_vars:
        close(a[name].values, b[name].values)


@pytest.mark.parametrize("given", SETTINGS)
def test_steps_of_several_rows_with_gaps(device, given):
    learners = [ob.create("kalman", backend=b, **SETTINGS[given]) for b in (device, "numpy")]
    noise = np.diag(np.linspace(1, 2, 8)) + 0.1
    for learner in learners:
        learner.step(X[:8], Y[:8], observation_noise=noise).step(X[8:], Y[8:]).step(X[5:6], Y[5:6])
    same(*learners)


@pytest.mark.parametrize("given", SETTINGS)
def test_the_smoother(device, given):
    mine, other = (ob.create("kalman", backend=b, **SETTINGS[given]).smooth(X, Y) for b in (device, "numpy"))
    close(mine["mean"].values, other["mean"].values)
    close(mine["covariance"].values, other["covariance"].values)


def test_the_smoother_of_a_state_that_rests_and_of_one_known_exactly(device):
    moves = np.where(np.arange(N) % 3, 1.0, 0.8)
    given = {"initial_covariance": TURN[:, :4] @ TURN[:, :4].T}  # known along two directions up to rounding
    learners = (ob.create("kalman", backend=b, **given) for b in (device, "numpy"))
    mine, other = (learner.smooth(X, Y, transition=moves) for learner in learners)
    close(mine["covariance"].values, other["covariance"].values)


@pytest.mark.parametrize("known", [1e-17, 1e-3])
def test_what_is_known_but_for_rounding_is_not_smoothed(known):
    P = np.stack([np.diag([known, 1.0])] * 3)  # the first step takes a variance of 1 to this, the second one rests
    F, P_pred = [np.eye(2), np.eye(2), np.eye(2) / 2], np.stack([np.eye(2), P[1], P[1] / 4])
    P[2] /= 8
    m_pred, m = np.zeros((3, 2, 1)), np.ones((3, 2, 1))
    moments = m_pred, P_pred, m.copy(), P.copy()
    mine = [IN_PLACE.asarray(a) for a in moments]
    smooth([IN_PLACE.asarray(f) for f in F], *mine)
    reference.rts_smooth(F, *moments)
    close(mine[2].get(), moments[2])
    close(mine[3].get(), moments[3])
    assert (moments[2][1, 0] == 1) == (known < 1e-10)


def outcome(backend, given):
    """The row that is refused, and whether a warning says that digits are lost."""
    learner = ob.create("kalman", backend=backend, **given)
    try:
        learner.partial_fit(X[:3], Y[:3])
    except ob.DivergedError as error:
        return error.row, None
    return None, float(learner.state()["precision_lost"])


@pytest.mark.filterwarnings("ignore::orfit_bench.AccuracyWarning")
@pytest.mark.parametrize("given", [*SETTINGS, "slight noise"])
def test_as_many_digits_are_asked_for(device, given):
    off = np.eye(D) - (1 - 1e-14) * np.outer(X[0], X[0]) / (X[0] @ X[0])  # along the first row a little is left
    messages = []
    for size, shape in ((1e14, off), (1e6, np.eye(D)), (1e12, np.eye(D)), (1e18, np.eye(D))):
        settings = SETTINGS.get(given, {"process_noise": 1e-3}) | {"initial_covariance": size * shape}
        messages.append(outcome(device, settings))
        assert messages[-1] == outcome("numpy", settings)
    assert len(set(messages)) > 1


def test_a_row_that_is_refused_leaves_the_state_before_it_moved(device):
    wild = X.copy()
    wild[9] = 1e200
    learners = [ob.create("kalman", backend=b, transition=0.9) for b in (device, "numpy")]
    for learner in learners:
        with pytest.raises(ob.DivergedError) as error:
            learner.partial_fit(wild, Y)
        assert error.value.row == 9
    same(*learners)
