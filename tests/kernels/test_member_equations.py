"""The normal equations of many learners: each solution and precision equals that of `solve_normal_equations`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from orfit_bench.kernels.information import solve_normal_equations
from orfit_bench.kernels.member_equations import FEWEST, SMALL, solve_members

N = 70
LARGE = 500.0


def equations(dtype: Any, p: int, spread: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """Equations of members with columns of scales 1 to 10^-spread; some without rows, of low rank, or overflowing."""
    rng = np.random.default_rng(p)
    X = rng.standard_normal((N, 3 * p, p)) * np.logspace(0, -spread, p)
    if np.dtype(dtype).kind == "c":
        X = X + 1j * rng.standard_normal(X.shape) * np.logspace(0, -spread, p)
    X[3], X[4, :, 1:], X[5, 1:] = 0, 0, 0
    L = np.tril(np.einsum("nij,nik->njk", X.conj(), X)).astype(dtype)
    m = np.einsum("nij,ni->nj", X.conj(), rng.standard_normal(X.shape[:2]))[:, :, None].repeat(2, axis=2).astype(dtype)
    L[6] *= np.finfo(dtype).tiny
    m[7] *= np.finfo(dtype).max / LARGE
    return L, m


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.complex64])
@pytest.mark.parametrize(("p", "spread"), [(1, 0), (2, 0), (8, 0), (8, 2), (SMALL, 1), (SMALL + 1, 1)])
def test_each_member_is_solved_as_one_learner(dtype: Any, p: int, spread: float) -> None:
    L, m = equations(dtype, p, spread)
    with np.errstate(all="ignore"):
        w, precision = solve_members(L, m)
        alone = [solve_normal_equations(L[i], m[i]) for i in range(N)]
    assert w.dtype == m.dtype
    eps = float(np.finfo(dtype).eps)
    for i, (want, left) in enumerate(alone):
        np.testing.assert_allclose(precision[i], left, rtol=1e-3, atol=20 * p * eps, err_msg=f"member {i}")
        np.testing.assert_array_equal(np.isfinite(w[i]), np.isfinite(want))
        if np.isfinite(want).all():
            error = np.abs(w[i] - want).max() / (np.abs(want).max() or 1)
            assert error <= 100 * p * eps / max(left, eps), f"member {i}"


def test_many_members_are_solved_together() -> None:
    assert FEWEST <= N


def test_no_members_have_no_weights() -> None:
    w, precision = solve_members(np.empty((0, 3, 3)), np.empty((0, 3, 1)))
    assert w.shape == (0, 3, 1)
    assert precision.shape == (0,)
