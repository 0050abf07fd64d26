"""Chunks of ridge regression that take the short path of bound functions."""

from __future__ import annotations

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench_numba._ridge_rows import MAX_FEATURES
from orfit_bench_numba.ridge import MANY_ROWS


def sums(X, y, ff, ridge):
    """X'WX + prior and X'Wy in extended precision; every later step multiplies both by ff."""
    X, y, ff = X.astype(np.longdouble), y.astype(np.longdouble), np.longdouble(ff)
    W = ff ** np.arange(len(X) - 1, -1, -1)
    return (X.T * W) @ X + ff ** len(X) * np.longdouble(ridge) * np.eye(X.shape[1]), (X.T * W) @ y


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("ff", [1.0, 0.9, 0.01])
@pytest.mark.parametrize("d", [1, 3, 8, 13, MAX_FEATURES, MAX_FEATURES + 1])
@pytest.mark.parametrize("n", [2, 7, 8, 9, 40])
def test_chunks_add_up(dtype, ff, d, n):
    rng = np.random.default_rng(d * n)
    X = (rng.standard_normal((3 * n, d)) * 10.0 ** rng.integers(-3, 3, d)).astype(dtype)
    y = rng.standard_normal(3 * n).astype(dtype)
    learner = ob.create("ridge", backend="numba", dtype=dtype, forgetting_factor=ff, ridge=1.0)
    for i in range(0, 3 * n, n):
        learner.partial_fit(X[i : i + n], y[i : i + n])
    L, m = sums(X, y, dtype(ff), 1.0)
    scale = np.sqrt(np.diagonal(L))  # |L_ij| <= sqrt(L_ii L_jj)
    rounding = 2 * (3 * n + 8) * np.finfo(dtype).eps
    found = np.tril(learner.array("information"))
    assert (abs(found - np.tril(L)) <= rounding * np.outer(scale, scale)).all()
    assert (abs(learner.array("moment")[:, 0] - m) <= rounding * scale * np.sqrt(y @ y)).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [2, MAX_FEATURES, MAX_FEATURES + 1])
@pytest.mark.parametrize("n", [30, MANY_ROWS, MANY_ROWS + 1])
@pytest.mark.parametrize("ff", [1.0, 0.99])
def test_arrays_and_lists_give_the_same_bits(dtype, d, n, ff):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((3 * n, d)).astype(dtype), rng.standard_normal(3 * n).astype(dtype)
    one = ob.create("ridge", backend="numba", dtype=dtype, forgetting_factor=ff)
    other = one.copy()
    for i in range(0, 3 * n, n):
        one.partial_fit(X[i : i + n], y[i : i + n])
        other.partial_fit(X[i : i + n].tolist(), y[i : i + n].tolist())
    assert one.state().identical(other.state())


@pytest.mark.filterwarnings("ignore::orfit_bench.AccuracyWarning")
@pytest.mark.parametrize("method", ["ridge", "kalman"])
@pytest.mark.parametrize("d", [3, 40, 400])
@pytest.mark.parametrize("scale", [1e-160, 1.0, 2.5e152])
@pytest.mark.parametrize("settings", [{}, {"small": True}])
def test_chunks_cause_no_floating_point_errors(method, d, scale, settings):
    """Neither as warnings nor as exceptions, which would leave a learner that refuses all calls."""
    if settings:
        settings = {"forgetting_factor": 1e-200} if method == "ridge" else {"process_noise": 1e-3}
    rng = np.random.default_rng(0)
    X, y = scale * rng.uniform(1, 2, (64, d)), np.ones(64)
    X[5, 0] *= 1e48
    one, other = (ob.create(method, backend="numba", **settings).partial_fit(np.eye(d)[:2], [1.0, 2.0]) for _ in "ab")
    results = []
    for learner, convert in ((one, np.asarray), (other, np.ndarray.tolist)):
        with np.errstate(all="raise"):
            try:
                learner.partial_fit(convert(X), convert(y))
                results.append("")
            except ob.DivergedError as error:
                results.append(str(error))
    assert results[0] == results[1]
    assert one.state().identical(other.state())


@pytest.mark.parametrize("d", [3, MAX_FEATURES + 1])
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["X", "y"])
def test_numbers_that_are_not_finite_change_nothing(d, value, name):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((60, d)), rng.standard_normal(60)
    learner = ob.create("ridge", backend="numba").partial_fit(X, y).partial_fit(X, y)
    before = learner.state().copy(deep=True)
    rows = {"X": X.copy(), "y": y.copy()}
    rows[name][40, ...] = value
    with pytest.raises(ValueError, match=rf"{name}\[40"):
        learner.partial_fit(rows["X"], rows["y"])
    assert learner.state().identical(before)


@pytest.mark.parametrize("d", [3, MAX_FEATURES + 1])
@pytest.mark.parametrize("row", [0, 40])
def test_a_chunk_ends_at_the_row_that_overflows(d, row):
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((60, d)), rng.standard_normal(60)
    learner = ob.create("ridge", backend="numba", ridge=1.0).partial_fit(X, y).partial_fit(X, y)
    huge = X.copy()
    huge[row, 1] = 1e200
    with pytest.raises(ob.DivergedError) as raised:
        learner.partial_fit(huge, y)
    assert raised.value.row == row
    L, m = sums(np.vstack((X, X, X[:row])), np.hstack((y, y, y[:row])), 1.0, 1.0)
    np.testing.assert_allclose(np.tril(learner.array("information")), np.tril(L).astype(float), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(learner.array("moment")[:, 0], m.astype(float), rtol=1e-12, atol=1e-11)


def test_predictions_take_the_general_path():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((60, 4)), rng.standard_normal(60)
    learner = ob.create("ridge", backend="numba").partial_fit(X, y)
    want = ob.create("ridge", backend="numpy").partial_fit(X, y)
    np.testing.assert_allclose(learner.prequential(X, y), want.prequential(X, y), rtol=1e-9)
