"""Regularized inverses for rows of very different sizes, compared with exact rational solutions."""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from orfit_bench.kernels.regularized_inverse import regularized_inverse, svd_of_rows


def solve(M: list[list[Fraction]], b: list[Fraction]) -> list[Fraction]:
    """The solution of M z = b, by elimination."""
    rows = [[*row, value] for row, value in zip(M, b, strict=True)]
    for i in range(len(rows)):
        pivot = max(range(i, len(rows)), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(len(rows)):
            share = rows[r][i] / rows[i][i] if r != i else Fraction(0)
            rows[r] = [a - share * c for a, c in zip(rows[r], rows[i], strict=True)]
    return [rows[i][-1] / rows[i][i] for i in range(len(rows))]


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Any:
    """Standard normal numbers; complex ones have two such parts."""
    numbers = rng.standard_normal(shape)
    return (numbers + 1j * rng.standard_normal(shape) if dtype is np.complex128 else numbers).astype(dtype)


def in_real_numbers(solve_real: Any, A: Any, b: Any, eps: float) -> Any:
    """The solution for complex A and b, from that of the real equations of their real and imaginary parts."""
    found = solve_real(np.block([[A.real, -A.imag], [A.imag, A.real]]), np.concatenate([b.real, b.imag]), eps)
    return found[: A.shape[1]] + 1j * found[A.shape[1] :]


def exact(A: Any, b: Any, eps: float) -> Any:
    """A^H (A A^H + eps I)^-1 b."""
    if np.iscomplexobj(A):
        return in_real_numbers(exact, A, b, eps)
    rows = [[Fraction(float(a)) for a in row] for row in A]
    M = [[sum(a * c for a, c in zip(x, y, strict=True)) + (i == j) * Fraction(eps) for j, y in enumerate(rows)]
         for i, x in enumerate(rows)]  # fmt: skip
    z = solve(M, [Fraction(float(value)) for value in b])
    return np.array([float(sum(row[j] * w for row, w in zip(rows, z, strict=True))) for j in range(A.shape[1])])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("eps", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize(("k", "p"), [(2, 2), (3, 5), (4, 4), (5, 3), (2, 40)])
def test_small_rows_count_among_large_ones(k: int, p: int, eps: float, dtype: Any) -> None:
    if k > p and (not eps or dtype is np.float32):
        pytest.skip("the products of more rows than columns have no inverse, or none with digits in single precision")
    rng = np.random.default_rng(k)
    A = (draw(rng, (20, k, p), dtype) * 10.0 ** rng.uniform(-6, 6, (20, k, 1))).astype(dtype)
    b = (A @ draw(rng, (p, 1), dtype)).astype(dtype)
    found = regularized_inverse(A, np.full(20, eps)).times(b)
    for one, rows, right in zip(found, A, b, strict=True):
        want = exact(rows, right[:, 0], eps)
        alone = regularized_inverse(rows, eps).times(right)
        bound = 1e6 * np.finfo(dtype).eps * abs(want).max()
        assert abs(one[:, 0] - want).max() <= bound
        assert abs(alone[:, 0] - want).max() <= bound


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize(("size", "eps"), [(1e-8, 1.0), (1e-15, 1.0), (1e-8, 1e-3), (1e-8, 1e6)])
@pytest.mark.parametrize(("k", "p"), [(3, 5), (4, 4), (5, 3), (2, 40)])
def test_rows_far_below_eps_keep_all_digits(k: int, p: int, size: float, eps: float, dtype: Any) -> None:
    """One of the rows is zero, so that the others are divided by their sizes."""
    rng = np.random.default_rng(k)
    A, b = (size * draw(rng, (k, p), dtype)).astype(dtype), draw(rng, (k, 1), dtype)
    A[0] = 0
    with np.errstate(divide="ignore"):
        got = regularized_inverse(A, eps).times(b)[:, 0]
    want = exact(A, b[:, 0], eps)
    assert abs(got - want).max() <= 1000 * np.finfo(dtype).eps * abs(want).max()


def exact_by_columns(A: Any, b: Any, eps: float) -> Any:
    """(A^H A + eps I)^-1 A^H b, the equivalent form for more rows than columns."""
    if np.iscomplexobj(A):
        return in_real_numbers(exact_by_columns, A, b, eps)
    columns = [[Fraction(float(a)) for a in column] for column in A.T]
    M = [[sum(map(operator.mul, x, y)) + (i == j) * Fraction(eps) for j, y in enumerate(columns)]
         for i, x in enumerate(columns)]  # fmt: skip
    right = [Fraction(float(value)) for value in b]
    return np.array([float(w) for w in solve(M, [sum(map(operator.mul, x, right)) for x in columns])])


@pytest.mark.parametrize(
    ("dtype", "spread", "eps"),
    [(np.float64, 4, 1e-4), (np.float64, 2, 1.0), (np.complex128, 4, 1e-4), (np.float32, 1, 1.0), (np.float32, 1, 1e3)],
)
@pytest.mark.parametrize(("k", "p"), [(64, 1), (64, 3), (70, 2), (150, 4)])
def test_many_rows_of_any_size_keep_nearly_all_digits(k: int, p: int, dtype: Any, spread: int, eps: float) -> None:
    rng = np.random.default_rng(k)
    sizes = 10.0 ** rng.uniform(-spread, spread, (10, k, 1))
    A = (draw(rng, (10, k, p), dtype) * sizes).astype(dtype)
    b = (A @ draw(rng, (p, 1), dtype) + 1e-3 * sizes * draw(rng, (10, k, 1), dtype)).astype(dtype)
    found = regularized_inverse(A, np.full(10, eps)).times(b)
    assert found.dtype == dtype
    for one, rows, right in zip(found, A, b, strict=True):
        want = exact_by_columns(rows, right[:, 0], eps)
        alone = regularized_inverse(rows, eps).times(right)
        for got in (one, alone):
            assert abs(got[:, 0] - want).max() <= 200 * np.finfo(dtype).eps * abs(want).max()


@pytest.mark.parametrize("groups", [1, 3])
def test_dependent_columns_of_many_rows_cost_no_digits(groups: int) -> None:
    """The error in float32 is not larger than for few rows, which are solved differently."""
    rng = np.random.default_rng(0)
    worst = {}
    for k in (40, 80):
        of_group = np.eye(groups)[rng.integers(0, groups, (20, k))]
        A = np.concatenate([np.ones((20, k, 1)), of_group], axis=2) * np.where(np.arange(k) % 2, 1, 100)[None, :, None]
        A = A.astype(np.float32)
        b = (A @ rng.standard_normal((groups + 1, 1))).astype(np.float32)
        found = regularized_inverse(A, np.full(20, 1.0)).times(b)
        exact = [exact_by_columns(rows, right[:, 0], 1.0) for rows, right in zip(A, b, strict=True)]
        worst[k] = max(abs(w[:, 0] - v).max() / abs(v).max() for w, v in zip(found, exact, strict=True))
    assert worst[80] <= 10 * worst[40]


def test_small_rows_before_large_ones_keep_their_digits() -> None:
    """The large rows have one direction, so that the small ones, which come first, decide the others."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        large = 1e3 * rng.standard_normal((30, 1)) * rng.standard_normal(3)
        A = np.concatenate([rng.standard_normal((50, 3)), large])
        b = np.concatenate([rng.standard_normal(50), large @ [1.0, 2.0, 3.0]])[:, None]
        want = exact_by_columns(A, b[:, 0], 1e-4)
        got = regularized_inverse(A, 1e-4).times(b)[:, 0]
        assert abs(got - want).max() <= 200 * np.finfo(float).eps * abs(want).max()


@pytest.mark.parametrize("eps", [0.0, 1e-16])
def test_many_rows_with_nearly_dependent_columns_get_the_pseudo_inverse(eps: float) -> None:
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((80, 2)) * 10.0 ** rng.uniform(-2, 2, (80, 1)), rng.standard_normal((80, 1))
    A[:, 1] = A[:, 0] * (1 + 1e-10 * rng.standard_normal(80))
    want = np.linalg.pinv(A, rcond=1e-8) @ b
    np.testing.assert_allclose(regularized_inverse(A, eps).times(b), want, rtol=1e-5)


def test_rows_that_depend_on_each_other_get_the_pseudo_inverse() -> None:
    b = np.array([[1.0], [300.0]])
    for A in (np.array([[1.0, 2.0], [100.0, 200.0]]), np.array([[0.0, 0.0], [3.0, 4.0]])):
        with np.errstate(all="ignore"):
            found = regularized_inverse(A, 0.0).times(b)
        np.testing.assert_allclose(found, np.linalg.pinv(A) @ b, rtol=1e-12)


def test_a_zero_row_has_no_part_in_the_others() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        A, b = 1e4 * rng.standard_normal((3, 5)), np.array([[1e-3], [30.0], [2e-2]])
        A[1] = 0
        want = exact(A, [b[0, 0], 0, b[2, 0]], 2.6e-6)
        with np.errstate(divide="ignore"):
            found = regularized_inverse(A, 2.6e-6).times(b)[:, 0]
        assert abs(found - want).max() <= 1e-13 * abs(want).max()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("eps", [0.0, 1e-3, 1e3])
def test_windows_keep_their_digits_whatever_the_others_are(eps: float, dtype: Any) -> None:
    """Rows far from dependent, nearly dependent, tiny, huge, uneven and zero rows in one call."""
    rng = np.random.default_rng(0)
    A = draw(rng, (9, 3, 20), dtype).astype(np.result_type(dtype, float))
    A[1, 1] = A[1, 0] + 1e-2 * A[1, 1]
    A[2] *= 1e-12
    A[3] *= 1e12
    A[4, 0] = 0
    A[5, 2] *= 1e6
    A[6, 2] = A[6, 0] + A[6, 1] + 1e-2 * A[6, 2]
    A[7] *= 1e-160 if dtype is np.float64 else 1e-20
    A, b = A.astype(dtype), draw(rng, (9, 3, 1), dtype)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        found = regularized_inverse(A, np.full(9, eps)).times(b)
        for one, rows, right in zip(found, A, b, strict=True):
            nonzero = np.abs(rows).any(axis=1)
            want = exact(rows[nonzero], right[nonzero, 0], eps)
            assert abs(one[:, 0] - want).max() <= 2e5 * np.finfo(dtype).eps * abs(want).max()


@pytest.mark.parametrize("shape", [(3, 50), (3, 47), (1, 16), (5, 3)])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_svd_of_wide_and_of_narrow_rows(dtype: str, shape: tuple[int, int]) -> None:
    A = np.random.default_rng(0).standard_normal((2, *shape)).astype(dtype)
    A[1] *= 1e6
    if A.dtype.kind == "c":
        A += 1j * A[:, ::-1]
    V, sigma, W = svd_of_rows(A)
    np.testing.assert_allclose(sigma, np.linalg.svd(A, compute_uv=False), rtol=1e-5)
    np.testing.assert_allclose((V * sigma[:, None]) @ W, A, rtol=0, atol=1e-5 * abs(A).max())
    np.testing.assert_allclose(W @ W.conj().mT, np.stack(2 * [np.eye(min(shape))]), atol=1e-5)


@pytest.mark.parametrize("angle", [1.0, 1e-2, 1e-5])
@pytest.mark.parametrize("eps", [0.0, 1e-16])
def test_many_windows_of_nearly_dependent_rows_keep_their_digits(angle: float, eps: float) -> None:
    """The first window is far from dependent, so that the others are looked at one by one."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((20, 4, 8))
    A[1:, 3] = A[1:, :3].sum(axis=1) + angle * A[1:, 3]
    b = A @ rng.standard_normal((8, 1))
    for one, rows, right in zip(regularized_inverse(A, eps).times(b), A, b, strict=True):
        want = exact(rows, right[:, 0], eps)
        assert abs(one[:, 0] - want).max() <= 1e-13 / angle * abs(want).max()


@pytest.mark.parametrize("size", [1e-160, 1e-140, 1e140, 1e160])
def test_many_windows_of_extreme_rows_keep_their_digits(size: float) -> None:
    rng = np.random.default_rng(0)
    A, b = size * rng.standard_normal((10, 2, 5)), rng.standard_normal((10, 2, 1))
    A[0] /= size
    with np.errstate(all="ignore"):
        found = regularized_inverse(A, 0.0).times(b)
    for one, rows, right in zip(found, A, b, strict=True):
        want = exact(rows, right[:, 0], 0.0)
        assert abs(one[:, 0] - want).max() <= 1e-13 * abs(want).max()


def test_directions_of_nearly_dependent_rows_of_other_sizes_keep_their_digits() -> None:
    """Small singular values of the rows divided by their sizes: products with the left vectors would lose digits."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        A = rng.standard_normal((3, 6))
        A[1] = 1e3 * (A[0] + 1e-5 * A[1])
        b = rng.standard_normal((3, 1))
        want = exact(A, b[:, 0], 0.0)
        found = regularized_inverse(A, 0.0).times(b)[:, 0]
        assert abs(found - want).max() <= 1e-10 * abs(want).max()
