"""Steps and blocks that correct a covariance, accepted and refused ones, compared with the host's kernel."""

from itertools import product

import numpy as np
import pytest

from orfit_bench.kernels.guards import forgetting_limits
from orfit_bench_cupy import _covariance, gp, owm
from orfit_bench_cupy._device_blocks import DeviceBlocks
from orfit_bench_numba import _covariance as numba_covariance

from .conftest import IN_PLACE

D = 6
rng = np.random.default_rng(0)
X, Y, W = rng.standard_normal((20, D)), rng.standard_normal((20, 2)), rng.standard_normal((D, 2))
HALF = rng.standard_normal((D, D))
WOUND_UP = np.diag([1, 1, 1, 1, 1, 1e10])
EXTREMES = list(product([1e-12, 1.0, 1e9, 1e13, 1e20, 1e155, 8e306], [1.0, 0.5, 1.5], [np.eye(D), WOUND_UP]))


def covariance(size, shape):
    P = shape @ (HALF @ HALF.T / 40 + np.eye(D) / 2) @ shape
    return P * (size / P.max())


def there(*arrays):
    """Copies on the device; numbers without dimensions stay in host memory."""
    return [IN_PLACE.asarray(a) if a.ndim else a.copy() for a in arrays]


def learn_block(P, w, rows, targets, noise, limits):
    """Whether three rows are learned as a block on the device, and whether half of the digits are lost."""
    learned, degraded = DeviceBlocks(P, w, rows, targets, noise, limits, None, 3).learn([slice(0, 3)])
    return bool(learned), degraded


def same(got, want, size):
    """Assert that arrays are equal up to the rounding of a P of this size."""
    for a, b in zip(got, want, strict=True):
        atol = 100 * np.finfo(float).eps * (size + np.abs(b).max())
        np.testing.assert_allclose(a.get(), b, rtol=1e-9, atol=atol)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize(("size", "ff", "shape"), EXTREMES)
def test_a_step_comes_to_what_it_does_on_the_host(size, ff, shape, rows):
    limits, R = forgetting_limits(ff, np.dtype(float)), ff * np.eye(rows)
    P, w, lost = covariance(size, shape), W.copy(), np.zeros(())
    mine = there(P, w, lost)
    applied = _covariance.learn_step(mine[0], mine[1], *there(X[:rows], Y[:rows]), R, mine[2], limits)
    assert applied == numba_covariance.learn_step(P, w, X[:rows], Y[:rows], R, lost, limits)
    assert mine[2] == lost
    assert (mine[0].get() == mine[0].get().T).all()
    if size < 1e13:  # beyond it two kernels have no digits in common
        same(mine[:2], (P, w), size)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("size", "ff", "shape"), EXTREMES)
def test_a_block_is_learned_only_where_the_host_refuses_no_row(size, ff, shape):
    limits, noise = forgetting_limits(ff, np.dtype(float)), np.full(3, ff)
    P, w, lost = covariance(size, shape), W.copy(), np.zeros(())
    mine = there(P, w)
    learned, degraded = learn_block(*mine, *there(X[:3], Y[:3]), noise, limits)
    if not learned:
        assert (mine[0].get() == P).all()
        assert (mine[1].get() == w).all()
        return
    assert numba_covariance.learn_rows(P, w, X[:3], Y[:3], noise, lost, None, limits) == 3
    assert degraded == lost
    if size < 1e13:
        same(mine, (P, w), size)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("ff", "applied"), [(1.0, True), (0.5, False)])
def test_a_covariance_that_no_row_visits_grows_to_the_edge_of_the_floats(ff, applied):
    P, rows, limits = np.eye(D), X[:3] * (np.arange(D) < D - 1), forgetting_limits(ff, np.dtype(float))
    P[-1, -1] = np.finfo(float).max / 5
    parts = there(P, W, rows, Y[:3], np.zeros(()))
    assert _covariance.learn_step(*parts[:4], ff * np.eye(3), parts[4], limits) == applied
    assert learn_block(*there(P, W, rows, Y[:3]), np.full(3, ff), limits)[0] == applied


def test_a_layer_that_takes_nothing_in_propagates_nothing():
    a, Delta = there(np.zeros(3), np.zeros((3, 2)))
    assert (owm.propagated_errors(a, Delta).get() == 0).all()
    a, Delta = there(np.array([0.0, -2.0, 1.0]), np.outer([0.0, -2.0, 1.0], [3.0, 4.0]))
    np.testing.assert_array_equal(owm.propagated_errors(a, Delta).get(), [[3.0, 4.0]])


def test_some_steps_are_refused_and_some_lose_digits():
    outcomes = set()
    for size, ff, shape in EXTREMES:
        P, w, lost = there(covariance(size, shape), W, np.zeros(()))
        limits = forgetting_limits(ff, np.dtype(float))
        outcomes.add((_covariance.learn_step(P, w, *there(X[:1], Y[:1]), ff * np.eye(1), lost, limits), float(lost)))
    assert outcomes == {(True, 0.0), (True, 1.0), (False, 0.0)}


def test_what_joins_a_basis_is_orthogonal_to_it():
    basis, a = IN_PLACE.asarray(np.zeros((D, D))), X[0] / np.linalg.norm(X[0])
    rows = [a, a + 1e-6 * X[1], a + 1e-6 * X[2], a + 1e-6 * X[1]]
    for n, row in enumerate(rows):
        r, (size, length, rest, _, used) = gp.measure_rest(basis, IN_PLACE.asarray(row))
        assert int(used) == min(n, 3)
        if n < 3:
            basis[n] = r / rest
        else:
            assert float(rest) < 1e-8 * float(length)
    np.testing.assert_allclose(basis.get()[:3] @ basis.get()[:3].T, np.eye(3), atol=1e-14)
    assert float(size) == np.abs(rows[-1]).max()
