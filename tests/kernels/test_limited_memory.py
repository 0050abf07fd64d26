"""Which directions a limited memory keeps, and how exact they are."""

from types import SimpleNamespace

import numpy as np
import pytest

from orfit_bench.kernels.limited_memory import errors_of_step, keep_errors, kept_positions, order_by_size


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_of_equal_sizes_the_earliest_is_first(dtype):
    eps = np.finfo(dtype).eps
    sizes = np.array([3, 1, 1 + 8 * eps, 1 - 8 * eps, 2], dtype)
    assert order_by_size(sizes, 2).tolist() == [0, 4, 1, 2, 3]
    assert order_by_size(np.array([1, 1 + 2 * eps**0.75], dtype), 1).tolist() == [1, 0]
    assert order_by_size(sizes[:0], 0).tolist() == []


def test_the_latest_or_all_but_those_drawn_are_kept():
    assert kept_positions(5, SimpleNamespace(summary="latest", memory=3)).tolist() == [2, 3, 4]
    p = SimpleNamespace(summary="random", memory=3, draws=np.array([[0.0, 0.99, 0.5]]))
    assert kept_positions(5, p).tolist() == [1, 2, 3]
    assert kept_positions(3, p).tolist() == [0, 1, 2]


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_errors_of_stored_directions_and_rounding_are_enlarged_by_what_is_left(scale):
    s = SimpleNamespace(
        count=np.array([1]), basis=np.eye(3)[:2], direction_errors=np.array([1e-6, 0]), precision_lost=np.zeros(())
    )
    J = scale * np.array([[1.0, 1e-3, 0.0]])
    errors = errors_of_step(s, J, scale * np.array([[1e-3]]))
    np.testing.assert_allclose(errors, [1e-6, 1e-3], rtol=1e-6)
    keep_errors(s, errors, np.array([1]))
    assert s.direction_errors.tolist() == [errors[1], 0]
    assert s.precision_lost == 1
    s.direction_errors[:] = s.precision_lost[...] = 0
    found = errors_of_step(s, J, scale * np.array([[1e-3]]))[1]
    np.testing.assert_allclose(found, 1e3 * np.finfo(float).eps, rtol=1e-5)
    keep_errors(s, np.array([0, found]), np.array([0, 1]))
    assert s.precision_lost == 0


def test_rows_of_a_batch_that_nearly_depend_on_each_other_lose_digits_together():
    s = SimpleNamespace(count=np.array([0]), basis=np.eye(2), direction_errors=np.zeros(2))
    errors = errors_of_step(s, np.array([[1.0, 0.0], [1.0, 1e-4]]), np.array([[1.0, 1.0], [0.0, 1e-4]]))
    np.testing.assert_allclose(errors, np.finfo(float).eps * np.array([1, 2**0.5 * 1e4]), rtol=1e-6)
