"""Affine projection by calls of one row: products kept from call to call equal newly computed ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob

Array = np.ndarray[Any, Any]
SIZES = [(1, 1), (5, 3), (16, 4), (16, 16), (33, 7), (100, 9), (131, 17)]
"""Numbers of features, covering every remainder modulo the machine's vector length, and of rows."""


def create(order: int, dtype: str = "float64") -> Any:
    return ob.create("apa", backend="numba", dtype=dtype, projection_order=order, step_size=0.7)


def make_rows(n: int, d: int, dtype: str = "float64", seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)).astype(dtype), rng.standard_normal(n).astype(dtype)


def compare_with_copies(learner: Any, X: Array, y: Array) -> None:
    """Copy the learner before each row: a copy does not have the products of earlier rows."""
    for x, target in zip(X, y, strict=True):
        fresh = learner.copy().learn_one(x, target)
        assert learner.learn_one(x, target).state().identical(fresh.state())


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("d", "order"), SIZES)
def test_kept_products_have_the_bits_of_those_formed_anew(d: int, order: int, dtype: str) -> None:
    compare_with_copies(create(order, dtype), *make_rows(3 * order + 5, d, dtype))


def learn_a_chunk(learner: Any) -> None:
    learner.partial_fit(*make_rows(3, 12, seed=1))


def learn_a_row_by_the_general_path(learner: Any) -> None:
    learner.learn_one([float(j) for j in range(12)], 1.0)


def learn_a_row_that_needs_an_svd(learner: Any) -> None:
    learner.learn_one(learner.live_state.arrays.rows[-1].copy(), 2.0)


def refuse_a_row(learner: Any) -> None:
    with pytest.raises(ValueError, match="finite"):
        learner.learn_one(np.full(12, np.nan), 1.0)


def change_a_row_in_place(learner: Any) -> None:
    learner.live_state.arrays.rows[2, 7] += 1e-9


def change_targets_and_weights_in_place(learner: Any) -> None:
    learner.live_state.arrays.targets[1] += 1.0
    learner.live_state.arrays.w[3] += 1.0


def shorten_the_window(learner: Any) -> None:
    learner.live_state.arrays.count[0] = 2


def reverse_the_window(learner: Any) -> None:
    learner.live_state.arrays.rows[...] = learner.live_state.arrays.rows[::-1].copy()


@pytest.mark.parametrize(
    "change",
    [
        learn_a_chunk,
        learn_a_row_by_the_general_path,
        learn_a_row_that_needs_an_svd,
        refuse_a_row,
        change_a_row_in_place,
        change_targets_and_weights_in_place,
        shorten_the_window,
        reverse_the_window,
    ],
)
@pytest.mark.parametrize("learned", [5, 9])
def test_products_of_rows_that_have_changed_are_formed_anew(change: Callable[[Any], None], learned: int) -> None:
    learner, (X, y) = create(5), make_rows(20, 12)
    for x, target in zip(X[:learned], y, strict=False):
        learner.learn_one(x, target)
    change(learner)
    compare_with_copies(learner, X[learned:], y[learned:])


def test_two_learners_of_one_state_in_turns() -> None:
    """Each sees that the other one has learned rows."""
    one, other, alone, (X, y) = create(4), create(4), create(4), make_rows(30, 12)
    for learner in (one, alone):
        learner.partial_fit(X[:6], y[:6])
    other.partial_fit(X[:1], y[:1])
    for i in range(6, 30):
        learner = one if i % 3 else other
        learner.live_state = one.live_state
        learner.learn_one(X[i], y[i])
        alone.learn_one(X[i], y[i])
    assert one.state().identical(alone.state())
