"""Ridge regression with many features on the device, compared with the host's kernel."""

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench_cupy import _block_ridge, ridge
from orfit_bench_cupy._libraries import add_products

from .conftest import cupy

D, N = 70, 150  # five blocks or more of 35 rows
SETTINGS = [
    {"ridge": 1.0},
    {"ridge": 1e-3},
    {"forgetting_factor": 0.9},  # also cuts the blocks
    {"forgetting_factor": 1.05},
    {"ridge": 0.0},  # not solvable at first
]
DTYPES = ["float64", "float32"]


@pytest.fixture
def device(in_place, monkeypatch):
    """The backend, with a lower limit from which features count as many."""
    monkeypatch.setattr(ridge, "MIN_FEATURES", 1)
    return in_place


def rows(dtype):
    rng = np.random.default_rng(0)
    return rng.standard_normal((N, D)).astype(dtype), rng.standard_normal((N, 2)).astype(dtype)


def learned(backend, settings, dtype, X, y, predicts=True):
    """The state and the predictions after two calls, or the row of the second that was refused."""
    learner, reported = ob.create("ridge", backend=backend, dtype=dtype, **settings), []
    for part in (slice(0, 40), slice(40, None)):
        try:
            found = (learner.prequential if predicts else learner.partial_fit)(X[part], y[part])
        except ob.DivergedError as error:
            return learner, error.row
        reported.append(learner.backend.asnumpy(found) if predicts else learner.backend.asnumpy(learner.predict(X)))
    return learner, np.concatenate(reported)


def same(mine, want, dtype, tolerance):
    (learner, reported), (other, expected) = mine, want
    pairs = [(reported, expected)]
    state, wanted = learner.state(), other.state()
    pairs += [(state[name].values, wanted[name].values) for name in wanted.data_vars]
    for a, b in pairs:
        atol = tolerance * np.finfo(dtype).eps * abs(np.asarray(b, float)).max(initial=0)
        np.testing.assert_allclose(a, b, rtol=0, atol=atol)


@pytest.mark.filterwarnings("ignore::orfit_bench.AccuracyWarning")
@pytest.mark.parametrize("predicts", [True, False], ids=["predictions", "no_predictions"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_blocks_leave_what_the_host_leaves(device, settings, dtype, predicts):
    X, y = rows(dtype)
    mine, want = (learned(backend, settings, dtype, X, y, predicts) for backend in (device, "numba"))
    same(mine, want, dtype, 3e4 if settings.get("ridge", 1.0) == 1 else 3e6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_tame_rows_never_go_to_the_host(device, monkeypatch, dtype):
    monkeypatch.delattr(ridge, "run_on_host")
    X, y = rows(dtype)
    learned(device, {"ridge": 1.0}, dtype, X, y)
    ob.create("ridge", backend=device, ridge=1.0).prequential(X[:1], y[:1])


def test_a_block_waits_once(device):
    X, y = rows("float64")
    learner, waits = ob.create("ridge", backend=device, ridge=1.0).partial_fit(X[:1], y[:1]), []
    for n in (35, 70, 140):
        before = cupy.COUNTS.copy()
        learner.prequential(X[:n], y[:n])
        waits.append((cupy.COUNTS - before).waits)
    assert waits == [2, 3, 5]  # one for the chunk


@pytest.mark.filterwarnings("ignore::orfit_bench.AccuracyWarning")
def test_a_block_that_loses_precision_is_learned_on_the_host(device, monkeypatch):
    """In one block the energy of the rows, relative to the prior, exceeds eps^(-2/3)."""
    X, y = rows("float64")
    X[80:90] *= 1e8
    on_host, sizes = ridge.learn_rows_on_host, []

    def learn(kernel, s, X, *more):
        sizes.append(len(X))
        return on_host(kernel, s, X, *more)

    monkeypatch.setattr(ridge, "learn_rows_on_host", learn)
    mine, want = (learned(backend, {"ridge": 1.0}, "float64", X, y) for backend in (device, "numba"))
    same(mine, want, "float64", 1e9)
    assert sizes[0] == 35


@pytest.mark.parametrize("dtype", DTYPES)
def test_only_one_triangle_is_written(dtype):
    X = np.random.default_rng(0).standard_normal((5, 4)).astype(dtype)
    L = cupy.asarray(np.arange(16, dtype=dtype).reshape(4, 4))
    add_products(L, cupy.asarray(X), 0.5)
    want = np.arange(16).reshape(4, 4) * 1.0
    want[np.tri(4, dtype=bool)] = (0.5 * want + X.T @ X)[np.tri(4, dtype=bool)]
    np.testing.assert_allclose(L.get(), want, rtol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_failed_factorization_has_no_precision(dtype):
    A = np.random.default_rng(0).standard_normal((70, 70)).astype(dtype)
    L = A @ A.T + np.eye(70, dtype=dtype)
    _, *found = _block_ridge.factor_information(cupy.asarray(L))
    assert _block_ridge.precision(*(a.get() for a in found)) > 1e-4
    for i in (0, 30, 69):
        for value in (-L[i, i], np.nan, 0):
            broken = L.copy()
            broken[i, i] = value
            _, *found = _block_ridge.factor_information(cupy.asarray(broken))
            assert _block_ridge.precision(*(a.get() for a in found)) == 0
    pivots, lengths = np.ones(3, dtype), np.array([0, 0, 1], dtype)  # the remaining contents look like a factor
    assert _block_ridge.precision(pivots, lengths) == 0


def test_the_precision_is_that_of_the_host(device):
    rng = np.random.default_rng(0)
    X, y = np.cumsum(rng.standard_normal((N, D)), axis=1), rng.standard_normal(N)
    found = []
    for backend in (device, "numpy"):
        learner = ob.create("ridge", backend=backend, ridge=1e-3).partial_fit(X, y)
        found.append(learner.rule.kernel.solve(learner.live_state.arrays)[1])
    assert found[0] == pytest.approx(found[1], rel=1e-6)
    assert found[0] < 0.002  # the smallest pivot is 0.006


@pytest.mark.filterwarnings("ignore::orfit_bench.AccuracyWarning")
@pytest.mark.parametrize("settings", SETTINGS[::2], ids=str)
@pytest.mark.parametrize("number", [1e160, 1e-160, 1e150])
def test_many_rows_of_extreme_size_are_learned_as_on_the_host(in_place, settings, number):
    """There are more rows than features, so that they are added before their sums are checked."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((2, 9, 4)), rng.standard_normal((2, 9))
    X[1, 5, :2] *= number
    y[1, 5] *= number
    found = []
    for backend in (in_place, "numba"):
        learner, row = ob.create("ridge", backend=backend, **settings).partial_fit(X[0], y[0]), None
        try:
            learner.partial_fit(X[1], y[1])
        except ob.DivergedError as error:
            row = error.row
        found.append((learner, row))
    (ours, mine), (theirs, want) = found
    assert mine == want == (5 if number == 1e160 else None)
    assert ours.n_samples_seen_ == theirs.n_samples_seen_
    for name in ("information", "moment"):
        a, b = (learner.state()[name].values for learner in (ours, theirs))
        assert np.isfinite(a).all()
        np.testing.assert_allclose(np.tril(a), np.tril(b), rtol=1e-12)


def test_a_row_that_overflows_is_refused_though_later_rows_would_forget_it(in_place):
    X, y = np.random.default_rng(3).standard_normal((100, 4)), np.ones(100)
    X[10, 0] = 1e160
    learner = ob.create("ridge", backend=in_place, forgetting_factor=0.5)
    with pytest.raises(ob.DivergedError):
        learner.partial_fit(X, y)
    assert learner.n_samples_seen_ == 10


def test_many_rows_that_are_not_finite_change_nothing(in_place):
    X, y = np.random.default_rng(2).standard_normal((9, 4)), np.ones(9)
    learner = ob.create("ridge", backend=in_place).partial_fit(X, y)
    before = learner.to_bytes()
    for wrong in (np.nan, np.inf):
        bad, there = X.copy(), ob.backends()[in_place].asarray(X.copy())
        bad[7, 2] = there[7, 2] = wrong
        for rows_given in (bad, there):
            with pytest.raises(ValueError, match=rf"X\[7, 2\] is {wrong}"):
                learner.partial_fit(rows_given, y)
            assert learner.to_bytes() == before
        with pytest.raises(ValueError, match=rf"y\[0\] is {wrong}"):
            learner.partial_fit(X, np.full(9, wrong))
        assert learner.to_bytes() == before


def test_many_rows_are_started_before_the_host_waits(in_place, monkeypatch):
    monkeypatch.delattr(ridge, "sum_of_squares")  # this checks the rows before learning
    X, y = np.random.default_rng(3).standard_normal((9, 4)), np.ones(9)
    learner = ob.create("ridge", backend=in_place).partial_fit(X, y)
    before = cupy.COUNTS.copy()
    learner.partial_fit(*(ob.backends()[in_place].asarray(a) for a in (X, y)))
    assert (cupy.COUNTS - before).waits == 2  # whether y is finite, and the bound of all sums


@pytest.mark.parametrize("prior", [1e-4, 1e-7, 1e-9, 1e-10])
def test_predictions_before_each_row_with_a_weak_prior(device, prior):
    y = 1 + 0.1 * np.random.default_rng(0).standard_normal(32)
    means = np.array([y[:i].sum() / (i + prior) for i in range(32)])
    learner = ob.create("ridge", backend=device, ridge=prior).partial_fit([[0.0]], [0.0])
    found = learner.backend.asnumpy(learner.prequential(np.ones((32, 1)), y))
    np.testing.assert_allclose(found, means, atol=1e-8)
