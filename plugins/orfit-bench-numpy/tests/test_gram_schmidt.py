"""Gram-Schmidt with a memory."""

import numpy as np
import pytest

from orfit_bench_numpy._gram_schmidt import new_directions

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
def test_new_directions_are_orthonormal_and_span_the_residual(dtype, scale):
    U = np.linalg.qr(RNG.standard_normal((9, 3)))[0].astype(dtype)
    G = (scale * RNG.standard_normal((9, 4))).astype(dtype)
    Q, R = new_directions(U, G)
    tight = 10 * np.finfo(dtype).eps
    np.testing.assert_allclose(np.column_stack([U, Q]).T @ np.column_stack([U, Q]), np.eye(7), atol=tight)
    np.testing.assert_allclose(Q @ R / scale, (G - U @ (U.T @ G)) / scale, atol=10 * tight)


def test_what_depends_brings_no_direction():
    U = np.linalg.qr(RNG.standard_normal((5, 2)))[0]
    inside, new = U @ [1.0, 2.0], RNG.standard_normal(5)
    G = np.column_stack([np.zeros(5), inside, new, inside + 2 * new, inside + 1e-9 * RNG.standard_normal(5)])
    Q, R = new_directions(U, G)
    assert Q.shape == (5, 1)
    assert R.shape == (1, 5)
    assert abs(Q.T @ new)[0] > 0.1


def test_nearly_dependent_columns_stay_orthogonal():
    """One orthogonalization would leave 1e-9 along the basis, two leave only rounding."""
    U = np.linalg.qr(RNG.standard_normal((50, 5)))[0]
    G = U @ RNG.standard_normal((5, 3)) + 1e-6 * RNG.standard_normal((50, 3))
    Q, _ = new_directions(U, G)
    assert abs(U.T @ Q).max() < 1e-15
    assert abs(Q.T @ Q - np.eye(3)).max() < 1e-14
