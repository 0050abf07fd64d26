"""States with valid but impossible numbers: they are refused, or the next row is."""

import numpy as np
import pytest

import orfit_bench as ob

ROWS = np.random.default_rng(0).standard_normal((20, 3))


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize(("method", "field"), [("rls", "P"), ("class_rls", "P"), ("kalman", "covariance")])
def test_a_covariance_of_the_opposite_sign_is_never_learned_with(method, field, backend):
    y = np.where(ROWS[:, 0] > 0, "a", "b") if method == "class_rls" else ROWS.sum(axis=1)
    state = ob.create(method, backend=backend).partial_fit(ROWS, y).state()
    state[field].values[...] *= -1
    spoiled = ob.restore(state)
    before = spoiled.to_bytes()
    with pytest.raises(ob.DivergedError):
        spoiled.partial_fit(10 * ROWS[:1], y[:1])
    assert spoiled.state()[field].identical(ob.from_bytes(before).state()[field])


@pytest.mark.parametrize("mark", [1e300, -1.0, 0.5])
def test_a_mark_of_lost_precision_is_0_or_1(mark):
    state = ob.create("rls", backend="numpy").partial_fit(ROWS, ROWS.sum(axis=1)).state()
    state["precision_lost"].values[...] = mark
    with pytest.raises(ValueError, match=r"'precision_lost' is .*, want 0 or 1"):
        ob.restore(state)
