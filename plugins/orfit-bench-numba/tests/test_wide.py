"""Blocks of the compiled kernels, compared with rows of the reference."""

import numpy as np
import pytest
from helpers.wide import CASES, D, alike, learned, leaves_what_rows_leave, rows

from orfit_bench_numba._block_gram_schmidt import count_safe_rows


@pytest.mark.filterwarnings("ignore::orfit_bench.AccuracyWarning")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("method", "settings"), CASES, ids=str)
@pytest.mark.parametrize("wild", [None, 40, 100])
def test_a_block_leaves_what_rows_leave(method, settings, dtype, wild):
    leaves_what_rows_leave("numba", method, settings, dtype, wild)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("summary", ["ipca", "largest", "latest", "random"])
@pytest.mark.parametrize("shared", [0.0, 0.3, 3.0])
def test_orfit_of_rows_that_share_a_part(dtype, summary, shared):
    X, y = rows("orfit", dtype)
    X += np.asarray(shared, dtype)
    X[40] = X[39] + np.asarray(1e-3, dtype) * X[40]
    X[70] = 0
    settings = {"memory": 12, "summary": summary}
    (mine, predictions), (other, want) = (learned("orfit", settings, b, dtype, X, y) for b in ("numba", "numpy"))
    alike(predictions, want, dtype)
    a, b = mine.state(), other.state()
    for name in ("w", "singular_values"):
        alike(a[name].values, b[name].values, dtype)
    U, V = a["basis"].values, b["basis"].values
    alike(U @ U.T, np.eye(len(U)), dtype)
    alike(U.T @ U, V.T @ V, dtype)


def test_a_small_row_in_a_block_with_huge_weights():
    X, y = rows("orfit", "float64")
    X[5] *= 1e-70
    settings = {"memory": 12, "initial_weights": np.full((D, 2), 1e250)}
    (mine, predictions), (other, want) = (learned("orfit", settings, b, "float64", X, y) for b in ("numba", "numpy"))
    alike(predictions, want, "float64")
    alike(mine.array("w"), other.array("w"), "float64")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_block_ends_before_a_row_that_cannot_be_squared(dtype):
    X, info = np.ones((5, 3), dtype), np.finfo(dtype)
    for size, count in ((0, 5), (1e5, 5), (info.max / 8, 3), (info.max**0.4, 3), (info.tiny**0.4, 3), (info.tiny, 3)):
        X[3] = size
        assert count_safe_rows(X, X) == count
