"""Orthogonal weight modification (owm): the matrices P of the layers, their loss of precision, merging."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from helpers.networks import draw_rows, learned_separately, matrices, network_rows

import orfit_bench as ob

Same = Callable[[ob.Learner, ob.Learner], None]


@pytest.mark.parametrize("ff", [0.9, 1.0, 1.1])
@pytest.mark.parametrize("outputs", [1, 3])
def test_owm_on_one_layer_is_rls(outputs: int, ff: float) -> None:
    """With step 1, on rows with the constant of the bias last; P too."""
    X, Y = network_rows(12, d=3, outputs=outputs)
    X[3:6, 0] = X[5:7, 2] = 0
    A, w0 = np.column_stack([X, np.ones(12)]), np.random.default_rng(1).standard_normal((4, outputs))
    rls = ob.create("rls", ridge=0.3, forgetting_factor=ff, initial_weights=w0).partial_fit(A, Y).state()
    owm = ob.create("owm", model=ob.MLP(()), step_size=1.0, ridge=0.3, forgetting_factor=ff, initial_weights=w0.ravel())
    owm.partial_fit(X, Y)
    np.testing.assert_allclose(matrices(owm)[0], rls["w"], atol=1e-13)
    np.testing.assert_allclose(owm.state()["P_1"], rls["P"], atol=1e-13)


def test_owm_does_not_change_a_layer_without_input() -> None:
    """A dead layer without bias: its matrix does not change, and its P only forgets."""
    X, Y = network_rows(3)
    w = np.concatenate([-np.ones(3), [2.0]])
    learner = ob.create("owm", model=ob.MLP((1,), "relu", bias=False), initial_weights=w, forgetting_factor=0.5)
    learner.partial_fit(abs(X), Y)
    np.testing.assert_array_equal(learner.array("w")[:, 0], w)
    np.testing.assert_allclose(learner.state()["P_2"], 8)


def test_owm_warns_on_precision_loss_and_then_diverges() -> None:
    """A layer with constant inputs winds up in the other directions."""
    learner = ob.create("owm", model=ob.MLP((3,)), forgetting_factor=0.5)
    X, y = np.ones((2000, 2)), np.full(2000, 0.1)
    stated = "a layer's P are lost: .* narrower layers"
    with pytest.warns(ob.AccuracyWarning, match=stated), pytest.raises(ob.DivergedError) as info:
        learner.partial_fit(X, y)
    assert learner.n_samples_seen_ == info.value.row > 20
    assert learner.state()["precision_lost"] == 1
    assert all(np.isfinite(a.values).all() for a in learner.state().variables.values())


def test_owm_refuses_a_p_that_would_overflow() -> None:
    """A feature that is always zero does not reduce its entry of P, which doubles with every row."""
    learner = ob.create("owm", model=ob.MLP((2,), bias=False), forgetting_factor=0.5)
    X, Y = network_rows(1100)
    X[:, 1] = 0
    with pytest.warns(ob.AccuracyWarning), pytest.raises(ob.DivergedError) as info:
        learner.partial_fit(X, Y)
    assert 1000 < info.value.row < 1025
    assert np.isfinite(learner.state()["P_1"]).all()


def test_owm_changes_all_layers_or_none(same_state: Same) -> None:
    """The second layer's P has no digits left: the first layer must not have changed either."""
    X, Y = network_rows(4)
    state = ob.create("owm", model=ob.MLP((2,))).partial_fit(X, Y).state()
    state["P_2"].values[:] *= -1e3
    learner = ob.restore(state, model=ob.MLP((2,)))
    with pytest.raises(ob.DivergedError):
        learner.partial_fit(X[:1], Y[:1])
    same_state(learner, ob.restore(state, model=ob.MLP((2,))))


def test_merged_owm_counts_the_inputs_of_both():
    a, b, share = learned_separately("owm", ridge=2.0, forgetting_factor=0.9)
    before, other = a.state(), b.state()
    state = a.merge(b).state()
    np.testing.assert_allclose(state["w"], share * before["w"] + (1 - share) * other["w"], rtol=1e-12)
    for P in ("P_1", "P_2"):
        L_a, L_b = (np.linalg.inv(s[P].values) for s in (before, other))
        want = 0.9**8 * (L_a - 2 * np.eye(len(L_a))) + L_b
        np.testing.assert_allclose(state[P].values @ want, np.eye(len(L_a)), atol=1e-12)
        np.testing.assert_array_equal(state[P].values, state[P].values.T)
    a.partial_fit(*draw_rows(2))
