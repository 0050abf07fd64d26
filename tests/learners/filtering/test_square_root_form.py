"""The square-root form of the Kalman filter."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import orfit_bench as ob

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = RNG.normal(size=60)
Y[5] = np.nan
A = RNG.normal(size=(4, 4)) / 3
WORLDS = {
    "at rest": {},
    "moving": {"transition": A, "process_noise": A @ A.T},
    "noise in some directions": {"process_noise": np.diag([0.1, 0, 0.2, 0.3]), "initial_covariance": np.ones(4)},
    "exact observations": {"transition": A, "process_noise": A @ A.T, "observation_noise": 0.0},
}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_equals_the_covariance_form(world, backend):
    a, b = (ob.create("kalman", backend=backend, form=f, **WORLDS[world]) for f in ("covariance", "square_root"))
    for learner in (a, b):
        learner.partial_fit(X[:40], Y[:40])
    np.testing.assert_allclose(b.array("mean"), a.array("mean"), atol=1e-12)
    np.testing.assert_allclose(b.array("covariance"), a.array("covariance"), atol=1e-12)
    np.testing.assert_allclose(b.array("root") @ b.array("root").T, b.array("covariance"), atol=1e-15)
    for name in ("mean", "covariance"):
        found, want = (learner.smooth(X[40:], Y[40:])[name].values for learner in (b, a))
        np.testing.assert_allclose(found, want, atol=1e-10)
    np.testing.assert_allclose(b.predict(X, return_std=True)[1], a.predict(X, return_std=True)[1], atol=1e-12)
    np.testing.assert_allclose(b.log_likelihood(X[40:], Y[40:]), a.log_likelihood(X[40:], Y[40:]), rtol=1e-9)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_exact_rows_that_disagree_with_what_is_known_change_nothing(backend):
    """Three rows determine a state that moves without noise; the others have random targets."""
    F = np.array([[1, 0.1, 0], [0, 0.95, 0.1], [0, 0, 0.9]])
    powers = [np.linalg.matrix_power(F, t) for t in range(25)]
    first = np.linalg.solve(np.stack([X[t, :3] @ powers[t] for t in range(3)]), np.arange(3.0))
    y = np.r_[np.arange(3.0), RNG.normal(size=22)]
    learner = ob.create("kalman", backend=backend, form="square_root", transition=F, observation_noise=0.0)
    smoothed = learner.smooth(X[:25, :3], y)
    np.testing.assert_allclose(smoothed["mean"].values[:, :, 0], np.stack(powers) @ first, atol=1e-11)
    assert not smoothed["covariance"].values[2:].any()


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_what_is_known_at_rest_stays_known_in_a_later_move(backend):
    F = np.array([[1, 0.5, 0], [0, 1, 0.5], [0, 0, 1.0]])
    learner = ob.create("kalman", backend=backend, form="square_root", observation_noise=0.0)
    learner.partial_fit(X[:3, :3], Y[:3])
    known = learner.array("mean").copy()
    learner.partial_fit(X[6:7, :3], [7.0], transition=F[None])
    np.testing.assert_allclose(learner.array("mean"), F @ known, rtol=1e-10)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_smoothing_in_float32_from_a_vague_state(backend):
    """Levels seen in turn: their first variances are 1e9 times the noise, and later ones a thousandth of it."""
    given = {"initial_covariance": 1e6, "observation_noise": 1e-3, "process_noise": 1e-6, "transition": 1.0}
    rows, y = np.eye(2)[np.arange(40) % 2], np.round(RNG.normal(size=40), 3).astype(np.float32)
    exact, single = (
        ob.create("kalman", backend=backend, form="square_root", dtype=dtype, **given).smooth(rows, y)
        for dtype in ("float64", "float32")
    )
    variances = np.diagonal(exact["covariance"].values, axis1=1, axis2=2)
    np.testing.assert_allclose(np.diagonal(single["covariance"].values, axis1=1, axis2=2), variances, rtol=1e-3)
    errors = (single["mean"].values - exact["mean"].values)[:, :, 0]
    assert (np.abs(errors) < 1e-3 * np.sqrt(variances)).all()


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("q", [1, 5])
def test_rows_that_reduce_variances_by_1e10_keep_the_digits_of_the_covariance(backend, q):
    """The exact covariance comes from rational numbers."""
    rows, correlated = RNG.integers(-9, 9, (20, 4)), np.eye(q) + 0.5
    learner = ob.create("kalman", backend=backend, form="square_root", initial_covariance=2.0**20)
    weight = inverse([[Fraction(entry) for entry in row] for row in correlated / 1024])
    information = [[Fraction(int(i == j), 2**20) for j in range(4)] for i in range(4)]
    for H in rows.reshape(-1, q, 4):
        learner.step(H, np.ones(q), observation_noise=correlated / 1024)
        for i, j, k, m in itertools.product(range(4), range(4), range(q), range(q)):
            information[i][j] += int(H[k, i]) * weight[k][m] * int(H[m, j])
    exact = np.array([[float(entry) for entry in row] for row in inverse(information)])
    assert abs(learner.array("covariance") - exact).max() <= 50 * np.finfo(float).eps * abs(exact).max()


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("least", [1, 1e-3, 1e-6, 1e-10])
def test_the_order_of_rows_with_correlated_noises_of_different_sizes_costs_no_digits(backend, order, least):
    size = np.array([least, 1, 1e3 * least])
    R = (np.eye(3) + 0.5) * size * size[:, None]
    H = np.array([[1, 0.25, -0.5, 0], [0.5, -0.75, 0.5, 1], [0, 2, 1, -1]])
    learner = ob.create("kalman", backend=backend, form="square_root")
    rows = np.array(order)
    learner.step(H[rows], np.ones(3), observation_noise=R[rows][:, rows])
    weight = inverse([[Fraction(entry) for entry in row] for row in R])
    information = [[Fraction(int(i == j)) for j in range(4)] for i in range(4)]
    for i, j, k, m in itertools.product(range(4), range(4), range(3), range(3)):
        information[i][j] += Fraction(H[k, i]) * weight[k][m] * Fraction(H[m, j])
    exact = np.array([[float(entry) for entry in row] for row in inverse(information)])
    assert abs(learner.array("covariance") - exact).max() <= 50 * np.finfo(float).eps


def inverse(A):
    """The inverse of a matrix of fractions, by elimination."""
    n = len(A)
    rows = [[*row, *(Fraction(int(i == j)) for j in range(n))] for i, row in enumerate(A)]
    for i in range(n):
        rows[i] = [entry / rows[i][i] for entry in rows[i]]
        for k in range(n):
            if k != i:
                rows[k] = [a - rows[k][i] * b for a, b in zip(rows[k], rows[i], strict=True)]
    return [row[n:] for row in rows]


def test_float32_at_condition_a_million():
    rows = (RNG.normal(size=(300, 4)) * np.geomspace(1, 1e-6, 4)).astype(np.float32)
    y = rows.astype(float) @ (np.ones(4) / np.geomspace(1, 1e-6, 4))
    settings = {"backend": "numpy", "dtype": "float32", "initial_covariance": 1e12}
    found = ob.create("kalman", form="square_root", **settings).partial_fit(rows, y).predict(rows)
    both = np.vstack([rows.astype(float), 1e-6 * np.eye(4)]), np.append(y, np.zeros(4))
    assert np.abs(found - rows @ np.linalg.lstsq(*both, rcond=None)[0]).max() < 1e-4
    with pytest.raises(ob.DivergedError):
        ob.create("kalman", **settings).partial_fit(rows, y)


def test_a_row_that_cannot_count_in_full_is_warned_of():
    vague = ob.create("kalman", form="square_root", initial_covariance=1e34, backend="numpy")
    with pytest.warns(ob.AccuracyWarning, match="half of the digits"):
        vague.partial_fit([[0.7], [0.9]], [1.0, 3.0])


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_smoothing_warns_and_refuses_by_the_covariance(backend):
    learner = ob.create("kalman", form="square_root", transition=1.9, backend=backend)
    rows, y = np.tile([0.6, 0.8], (40, 1)), RNG.normal(size=40)
    np.testing.assert_allclose(learner.smooth(rows[:5], y[:5])["mean"].values[-1, :, 0] @ rows[0], _last_mean(y[:5]))
    with pytest.warns(ob.AccuracyWarning, match="half of the digits"):
        learner.smooth(rows[:20], y[:20])
    with pytest.warns(ob.AccuracyWarning), pytest.raises(ob.DivergedError, match="too few digits"):
        learner.smooth(rows, y)
    assert learner.n_samples_seen_ == 0


def _last_mean(y):
    """The last mean along the unit vector of the rows."""
    mean, v = 0.0, 1.0
    for t, target in enumerate(y):
        if t:
            mean, v = 1.9 * mean, 1.9**2 * v
        mean, v = mean + v / (v + 1) * (target - mean), v / (v + 1)
    return mean


def test_merge_keeps_the_root():
    settings = {"form": "square_root", "initial_covariance": np.diag([1.0, 0.0, 2.0, 3.0]), "backend": "numpy"}
    complete = ob.create("kalman", **settings).partial_fit(X, Y)
    merged = ob.create("kalman", **settings).partial_fit(X[:20], Y[:20])
    merged.merge(ob.create("kalman", **settings).partial_fit(X[20:], Y[20:]))
    for name in ("mean", "covariance"):
        np.testing.assert_allclose(merged.array(name), complete.array(name), atol=1e-13)
    np.testing.assert_allclose(merged.array("root") @ merged.array("root").T, merged.array("covariance"), atol=1e-13)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("seed", range(12))
def test_noise_in_one_direction_is_smoothed_as_in_the_covariance_form(seed, backend):
    """The state is drawn again in every step, from a distribution without variance in most directions."""
    b = np.random.default_rng(seed).standard_normal(4)
    moves = {"transition": 0.0, "process_noise": np.outer(b, b)}
    found = [
        ob.create("kalman", backend=backend, form=form, **moves).smooth(X[:6], Y[:6])
        for form in ("covariance", "square_root")
    ]
    for name in ("mean", "covariance"):
        np.testing.assert_allclose(found[1][name].values, found[0][name].values, atol=1e-7)
