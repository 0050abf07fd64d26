"""Rows of so many features that they are learned in blocks of matrix products, which the kit's are not."""

from itertools import pairwise

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench_numba._directions import tame

D = 420
CASES = [
    ("rls", {}),
    ("rls", {"forgetting_factor": 0.95}),
    ("rls", {"forgetting_factor": 1.05}),
    ("rls", {"ridge": 1e-3}),
    ("class_rls", {"forgetting_factor": 0.95}),
    ("kalman", {"observation_noise": 0.1}),
    ("kalman", {"transition": 0.9, "process_noise": 0.1}),
]


def learned(method, settings, backend, dtype, X, y, cuts=(0, 64, 150)):
    """The learner and its predictions, or the row that it refused."""
    learner, told = ob.create(method, backend=backend, dtype=dtype, **settings), []
    for begin, end in pairwise(cuts):
        try:
            told.append(learner.prequential(X[begin:end], y[begin:end]))
        except ob.DivergedError as error:
            return learner, begin + error.row
    return learner, np.concatenate([a[:, :2] if method == "class_rls" else a for a in told])


def rows(method, dtype, outputs=2):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((150, D)).astype(dtype), rng.standard_normal((150, outputs)).astype(dtype)
    if method == "kalman":
        Y[5::7, 0] = np.nan
    return X, (np.arange(150) % 2 if method == "class_rls" else Y)


def alike(got, want, dtype):
    np.testing.assert_allclose(got, want, rtol=0, atol=3e4 * np.finfo(dtype).eps * abs(np.asarray(want)).max(initial=0))


@pytest.mark.filterwarnings("ignore::orfit_bench.AccuracyWarning")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("method", "settings"), CASES, ids=str)
@pytest.mark.parametrize("wild", [None, 40, 100])
def test_a_block_leaves_what_rows_leave(method, settings, dtype, wild):
    X, y = rows(method, dtype)
    if wild is not None:
        X[wild] = np.finfo(dtype).max / 8
    (mine, told), (other, want) = (learned(method, settings, b, dtype, X, y) for b in ("numba", "numpy"))
    alike(told, want, dtype)
    a, b = mine.state(), other.state()
    for name in b.data_vars:
        alike(a[name].values, b[name].values, dtype)
    P = a["covariance" if method == "kalman" else "P"].values
    np.testing.assert_array_equal(P, P.T)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("summary", ["ipca", "largest", "latest", "random"])
@pytest.mark.parametrize("shared", [0.0, 0.3, 3.0])
def test_orfit_of_rows_that_share_a_part(dtype, summary, shared):
    X, y = rows("orfit", dtype)
    X += np.asarray(shared, dtype)
    X[40] = X[39] + np.asarray(1e-3, dtype) * X[40]
    X[70] = 0
    settings = {"memory": 12, "summary": summary}
    (mine, told), (other, want) = (learned("orfit", settings, b, dtype, X, y) for b in ("numba", "numpy"))
    alike(told, want, dtype)
    a, b = mine.state(), other.state()
    for name in ("w", "singular_values"):
        alike(a[name].values, b[name].values, dtype)
    U, V = a["basis"].values, b["basis"].values
    alike(U @ U.T, np.eye(len(U)), dtype)
    alike(U.T @ U, V.T @ V, dtype)


def test_a_small_row_in_a_block_beside_huge_weights():
    X, y = rows("orfit", "float64")
    X[5] *= 1e-70
    settings = {"memory": 12, "initial_weights": np.full((D, 2), 1e250)}
    (mine, told), (other, want) = (learned("orfit", settings, b, "float64", X, y) for b in ("numba", "numpy"))
    alike(told, want, "float64")
    alike(mine.state()["w"].values, other.state()["w"].values, "float64")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_block_ends_before_a_row_that_cannot_be_squared(dtype):
    X, info = np.ones((5, 3), dtype), np.finfo(dtype)
    for size, count in ((0, 5), (1e5, 5), (info.max / 8, 3), (info.max**0.4, 3), (info.tiny**0.4, 3), (info.tiny, 3)):
        X[3] = size
        assert tame(X, X) == count
