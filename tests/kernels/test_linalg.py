"""Factors of bases and roots of covariances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orfit_bench.kernels.linalg import (
    coordinates_of_rows,
    orthonormal_factor,
    orthonormal_factors,
    root_of_noise,
)


def make_basis(dtype: str, shape: tuple[int, int]) -> Any:
    C = np.random.default_rng(0).standard_normal((*shape, 2)) @ [1, 1j]
    return (C if dtype.startswith("complex") else C.real).astype(dtype)


@pytest.mark.parametrize("shape", [(9, 4), (4, 4), (300, 1), (700, 50)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_orthonormal_factor_is_that_of_a_positive_diagonal(dtype: str, shape: tuple[int, int]) -> None:
    C = make_basis(dtype, shape)
    Q = orthonormal_factor(C)
    assert Q is not None
    assert Q.dtype == C.dtype
    R, rounding = Q.conj().T @ C, 100 * shape[1] * np.finfo(C.dtype).eps * np.linalg.norm(C)
    np.testing.assert_allclose(Q.conj().T @ Q, np.eye(shape[1]), atol=rounding)
    np.testing.assert_allclose(Q @ np.triu(R), C, atol=rounding)
    assert (np.diagonal(R).real > 0).all()
    (batched,), (accurate,) = orthonormal_factors(C[None])
    np.testing.assert_allclose(batched, Q, atol=rounding)
    assert accurate


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_coordinates_are_those_of_the_pseudo_inverse(dtype: str) -> None:
    C, A = make_basis(dtype, (9, 4)), make_basis(dtype, (3, 9))
    X = coordinates_of_rows(C, A)
    assert X is not None
    assert X.dtype == C.dtype
    np.testing.assert_allclose(X, np.linalg.pinv(C) @ A.conj().T, rtol=1e3 * np.finfo(C.dtype).eps)


def test_a_basis_without_digits_or_rank_has_no_factor() -> None:
    C, A = make_basis("float64", (9, 4)), make_basis("float64", (3, 9))
    assert orthonormal_factor(1e15 * C) is None
    C[:, 1] = 0
    assert coordinates_of_rows(C, A) is None
    C[0, 0] = np.nan
    assert orthonormal_factor(C) is None


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@given(d=st.integers(2, 30), rank=st.integers(1, 29), seed=st.integers(0, 999))
def test_roots_have_no_direction_of_rounding_alone(d: int, rank: int, seed: int, dtype: Any) -> None:
    rng, rank = np.random.default_rng(seed), min(rank, d)
    B = rng.standard_normal((d, rank)) * 10 ** rng.uniform(-3, 3, (d, 1))
    P = (B @ B.T).astype(dtype)
    S, size = root_of_noise(P), np.sqrt(np.diagonal(P))
    assert np.linalg.matrix_rank(S / size[:, None], tol=1e-3 * np.finfo(dtype).eps ** 0.5) <= rank
    errors = (S @ S.T - P) / size[:, None] / size
    assert np.abs(errors).max() < 20 * d * np.finfo(dtype).eps
