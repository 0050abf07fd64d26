"""Functions on the arrays of a network's layers."""

import numpy as np
import pytest

from orfit_bench.kernels.layers import layer_matrices, project_off, propagated_errors, used_rows


def test_matrices_are_views_one_after_another():
    w = np.arange(10.0)[:, None]
    first, second = layer_matrices(w, ((2, 3), (4, 1)))
    np.testing.assert_array_equal(first, [[0, 1, 2], [3, 4, 5]])
    second[...] = 0
    assert (w[6:] == 0).all()


def test_used_rows_end_before_the_zero_rows():
    basis = np.zeros((3, 2))
    basis[0, 1] = 1
    assert used_rows(basis).shape == (1, 2)


def test_projection_is_orthogonal_to_the_basis():
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.standard_normal((5, 2)))[0].T
    rest = project_off(U, U.T @ rng.standard_normal((2, 1)) + 1e-6 * rng.standard_normal((5, 1)))
    assert abs(U @ rest).max() < 1e-18


def test_functions_use_the_standard_only():
    xp = pytest.importorskip("array_api_strict")
    w, basis = xp.ones((10, 1)), xp.eye(3)[:, :2]
    first, _ = layer_matrices(w, ((2, 3), (4, 1)))
    assert project_off(used_rows(basis), first).shape == first.shape
    assert bool(xp.all(propagated_errors(w[:2, 0], first) == 1.0))


@pytest.mark.parametrize("a", [[2.0, -4.0, 1.0], [0.0, 0.0, 0.0]])
def test_propagated_errors_times_the_input_are_the_gradient_step(a):
    a, errors = np.array(a), np.array([[3.0, 5.0]])
    np.testing.assert_array_equal(propagated_errors(a, a[:, None] * errors), errors if a.any() else 0 * errors)
