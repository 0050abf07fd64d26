"""Rows of so many features that they are learned in blocks of matrix products, which the kit's are not."""

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench_cupy import _blocks

D, ROWS = 420, 150
CASES = [
    ("rls", {}),
    ("rls", {"forgetting_factor": 0.95}),
    ("rls", {"forgetting_factor": 1.05}),
    ("rls", {"ridge": 1e-3}),
    ("class_rls", {"forgetting_factor": 0.95}),
    ("kalman", {"observation_noise": 0.1}),
    ("kalman", {"transition": 0.9, "process_noise": 0.1}),
]


def learned(method, settings, backend, dtype, X, y):
    """The learner and its predictions, or the row that it refused."""
    learner, told = ob.create(method, backend=backend, dtype=dtype, **settings), []
    for rows in (slice(0, 64), slice(64, None)):
        try:
            told.append(learner.backend.asnumpy(learner.prequential(X[rows], y[rows]))[:, :2])
        except ob.DivergedError as error:
            return learner, rows.start + error.row
    return learner, np.concatenate(told)


def drawn(method, dtype):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((ROWS, D)).astype(dtype), rng.standard_normal((ROWS, 2)).astype(dtype)
    if method == "kalman":
        Y[5::7, 0] = np.nan
    return X, (np.arange(ROWS) % 2 if method == "class_rls" else Y)


def alike(got, want, dtype):
    np.testing.assert_allclose(got, want, rtol=0, atol=3e4 * np.finfo(dtype).eps * abs(np.asarray(want)).max(initial=0))


@pytest.mark.filterwarnings("ignore::orfit_bench.AccuracyWarning")
@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("method", "settings"), CASES, ids=str)
@pytest.mark.parametrize("wild", [None, 40, 100])
def test_a_block_leaves_what_rows_leave(in_place, method, settings, dtype, wild):
    X, y = drawn(method, dtype)
    if wild is not None:
        X[wild] = np.finfo(dtype).max / 8
    (mine, told), (other, want) = (learned(method, settings, b, dtype, X, y) for b in (in_place, "numpy"))
    alike(told, want, dtype)
    a, b = mine.state(), other.state()
    for name in b.data_vars:
        alike(a[name].values, b[name].values, dtype)
    P = a["covariance" if method == "kalman" else "P"].values
    np.testing.assert_array_equal(P, P.T)


def test_tame_rows_never_go_to_the_host(in_place, monkeypatch):
    monkeypatch.delattr(_blocks, "on_host")
    X, y = drawn("rls", "float64")
    ob.create("rls", backend=in_place).partial_fit(X, y)
