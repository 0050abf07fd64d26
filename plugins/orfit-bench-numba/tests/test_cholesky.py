"""Cholesky factors for all sizes of the last block of rows, in both precisions."""

from typing import Any

import numpy as np
import pytest

from orfit_bench_numba._cholesky import factor, solve_lower, solve_upper

SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 16, 23, 64, 130]


def positive_definite(d: int, dtype: str = "float64") -> Any:
    A = np.random.default_rng(d).standard_normal((d, d))
    return (A @ A.T + d * np.eye(d)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("d", SIZES)
def test_a_factor_is_stored_with_its_transpose(d: int, dtype: str) -> None:
    A = positive_definite(d, dtype)
    found = A.copy()
    assert factor(found)
    want = np.linalg.cholesky(A.astype(float))
    np.testing.assert_allclose(np.tril(found), want, atol=10 * d * np.finfo(dtype).eps)
    np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize("d", SIZES)
def test_only_the_upper_triangle_is_read(d: int) -> None:
    A = positive_definite(d)
    upper, full = np.triu(A) + np.tril(np.full((d, d), np.nan), -1), A.copy()
    assert factor(upper)
    assert factor(full)
    np.testing.assert_array_equal(upper, full)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan])
@pytest.mark.parametrize("d", SIZES)
def test_every_pivot_is_checked(d: int, bad: float) -> None:
    for i in range(d):
        A = positive_definite(d)
        A[i, i] = bad
        assert not factor(A)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [1, 7, 1100])
@pytest.mark.parametrize("d", SIZES)
def test_solutions_for_both_triangles(d: int, columns: int, dtype: str) -> None:
    A = positive_definite(d, dtype)
    L = A.copy()
    factor(L)
    B = np.random.default_rng(1).standard_normal((d, columns)).astype(dtype)
    forward, backward, tol = B.copy(), B.copy(), 20 * d * np.finfo(dtype).eps
    solve_lower(L, forward)
    solve_upper(L, backward)
    of_numpy = np.linalg.cholesky(A.astype(float))
    np.testing.assert_allclose(forward, np.linalg.solve(of_numpy, B), atol=tol)
    np.testing.assert_allclose(backward, np.linalg.solve(of_numpy.T, B), atol=tol)
