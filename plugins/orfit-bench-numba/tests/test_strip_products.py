"""Products of long rows by strips, compared with those of NumPy."""

import numpy as np
import pytest

from orfit_bench_numba._strip_products import combine, multiply_all


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("p", [1, 7, 8, 511, 512, 513, 1100])
@pytest.mark.parametrize(("n", "k"), [(0, 1), (1, 3), (4, 4), (5, 2)])
def test_strips_of_any_size(n, k, p, dtype):
    rng = np.random.default_rng(p)
    U, X = rng.standard_normal((n, p)).astype(dtype), rng.standard_normal((k, p)).astype(dtype)
    both, close = np.concatenate([U, X]).astype(float), 10 * p * np.finfo(dtype).eps
    lower = np.tril(np.ones((n + k, n + k), bool))
    assert abs(multiply_all(U, X[:1], X[1:]) - both @ both.T)[lower].max() <= close
    for m in range(1, n + k + 1):
        A = rng.standard_normal((m, n + k)).astype(dtype)
        room = np.zeros((n + k, p), dtype)
        room[:n] = U
        W = np.full((m // 2, p), dtype(3))
        rows = m - len(W)
        combine(room[:rows], W, A, room[:n], X)  # in the memory of the rows that are combined
        assert abs(room[:rows] - A[:rows] @ both).max() <= close
        assert abs(W - 3 - A[rows:] @ both).max(initial=0) <= 2 * close
        assert np.array_equal(room[rows:n], U[rows:])
