"""Rows of orfit that are not finite: a block is checked by its products, so every position in it is tried."""

import numpy as np
import pytest

import orfit_bench as ob


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("memory", [3, None])
@pytest.mark.parametrize(
    ("rows", "bad"), [(1, 0), (2, 1), (20, 0), (20, 9), (20, 19), (64, 63), (65, 64), (130, 3), (130, 129)]
)
def test_a_number_that_is_not_finite_changes_nothing(rows, bad, memory, value):
    rng = np.random.default_rng(rows)
    X, y = rng.standard_normal((rows, 500)), rng.standard_normal(rows)
    learner = ob.create("orfit", backend="numba", memory=memory)
    for _ in range(2):  # before the first row, and with a memory
        before = learner.copy()
        for name, array, place in (("X", X, (bad, 499)), ("y", y, (bad,))):
            wrong = array.copy()
            wrong[place] = value
            with pytest.raises(ValueError, match=rf"{name}\[{bad}.*\] is -?{abs(value)}"):
                learner.partial_fit(*((wrong, y) if name == "X" else (X, wrong)))
            assert learner.state().identical(before.state())
        learner.partial_fit(X, y)
