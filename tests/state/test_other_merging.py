"""Merges that average or approximate, and what holds for every merge."""

import json

import numpy as np
import pytest
from conftest import make_rows
from helpers.cases import offering
from helpers.merging import CUBIC, EPS, TALL, WIDE, _parts, data, learned, of, stated
from hypothesis import given, settings
from hypothesis import strategies as st

import orfit_bench as ob
from orfit_bench.plugins.registry import registry

WEIGHTED = [
    (name, {})
    for name, m in ob.methods().items()
    if m.kind == "regression" and not m.state.layered and m.combine.merge and m.combine.merge.kind == "averaged"
]


@pytest.mark.parametrize("case", WEIGHTED, ids=stated)
@given(cuts=st.tuples(st.integers(1, 11), st.integers(1, 11)).map(sorted), nonlinear=st.booleans())
@settings(max_examples=20)
def test_averaged_weights_are_weighted_by_rows(case, cuts, nonlinear):
    X, y = make_rows(12, 3)
    model = {"model": CUBIC} if nonlinear else {}
    sizes = np.diff([0, *cuts, 12])
    left, right = ([learned(case, X[s] / 4, y[s] / 4, **model) for s in _parts(*cuts, 12)] for _ in range(2))
    parts = [it.array("w") for it in left]
    want = sum(n * w for n, w in zip(sizes, parts, strict=True)) / 12
    for merged in (left[0].merge(left[1]).merge(left[2]), right[0].merge(right[1].merge(right[2]))):
        np.testing.assert_allclose(merged.array("w"), want, rtol=0, atol=4 * EPS * abs(np.array(parts)).max())
        assert (merged.state().attrs["t"], merged.n_samples_seen_) == (max(sizes), 12)
        merged.partial_fit(X, y)


@pytest.mark.parametrize("order", [1, 4, None])
@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("model", [None, CUBIC], ids=["linear", "cubic"])
@pytest.mark.parametrize("split", [1, 3, 6, 9])
def test_merged_window_of_apa_holds_the_last_rows_of_both(order, outputs, model, split):
    X, y = make_rows(10, 3, outputs)
    settings = {"projection_order": order, **({"model": model} if model else {})}
    a, b = (learned(("apa", settings), X[s] / 4, y[s] / 4) for s in (slice(0, split), slice(split, 10)))
    q = 2 if model and outputs else 1  # a row of a model with two outputs has two gradients
    both = {n: np.concatenate([it.state()[n].values for it in (a, b)]) for n in ("rows", "targets")}
    state = a.merge(b).state()
    for name, rows in both.items():
        np.testing.assert_array_equal(state[name].values, rows[-order * q :] if order else rows)
    if model is None and order is None:
        np.testing.assert_array_equal(state["rows"].values, X / 4)
    a.partial_fit(X, y)


@pytest.mark.parametrize("memory", [None, 5])
def test_merged_ogd_keeps_the_predictions_of_the_first(memory):
    """w_a + (I - U_a U_a')(w_b - w_0); the basis is full once `memory` directions are kept, as in learning."""
    X, y = make_rows(8, 12)
    w0 = np.linspace(0, 1, 12)
    case = ("ogd", {"memory": memory, "step_size": 0.05, "initial_weights": w0})
    a, b = learned(case, X[:3], y[:3]), learned(case, X[3:], y[3:])
    before, move = a.predict(X[:3]), b.array("w")[:, 0] - w0
    off = np.eye(12) - np.linalg.pinv(X[:3]) @ X[:3]
    want = a.array("w")[:, 0] + off @ move
    a.merge(b)
    np.testing.assert_allclose(a.array("w")[:, 0], want, rtol=0, atol=1e-14)
    np.testing.assert_allclose(a.predict(X[:3]), before, rtol=0, atol=1e-14)
    kept = X[: memory or 8]
    U = a.array("basis")
    np.testing.assert_allclose(U.T @ U, np.linalg.pinv(kept) @ kept, rtol=0, atol=1e-13)
    assert a.state().attrs["t"] == 5


def test_merged_ogd_of_networks_moves_by_the_change_of_the_second():
    """w_a + (I - U_a U_a')(w_b - v_0), where b began at other weights v_0."""
    X, y = make_rows(4, 3)
    a, b = (ob.create("ogd", backend="numpy", model=ob.MLP((4,)), step_size=0.05, random_state=seed) for seed in (1, 2))
    a, b = a.partial_fit(X[:2], y[:2]), b.partial_fit(X[2:3], y[2:3])
    v = ob.create("ogd", backend="numpy", model=ob.MLP((4,)), random_state=2).partial_fit(X[:0], y[:0]).array("w")
    w, U = a.array("w"), a.array("basis")
    move = b.array("w") - v
    np.testing.assert_allclose(a.merge(b).array("w"), w + move - U.T @ (U @ move), rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("method", "settings"), [("rls", {}), ("icl", {}), ("orfit", {"memory": 3}), ("kalman", {})], ids=str
)
def test_networks_are_merged_with_new_ones_and_refused_otherwise(method, settings, same_state):
    X, y = make_rows(4, 3)
    new = ob.create(method, backend="numpy", model=ob.MLP((4,)), **settings)
    b = new.copy().partial_fit(X, y)
    same_state(new.copy().merge(b), b)
    same_state(b.copy().merge(new), b)
    same_state(b.copy().merge(new.copy().partial_fit(X[:0], y[:0])), b)
    with pytest.raises(ValueError, match=f"{method} cannot be merged here: "):
        b.merge(b.copy())


EVERY = [*TALL[:5], *WIDE[:2], ("greedy", {}), ("lms", {}), ("apa", {}), ("ogd", {})]


@pytest.mark.parametrize("case", EVERY, ids=stated)
def test_merging_with_a_new_learner_gives_the_other_state(case, same_state):
    X, y = data(case[0], 6, 3)
    b = learned(case, X, y)
    for fresh in (ob.create(case[0], **case[1]), learned(case, X[:0], y[:0])):
        same_state(fresh.copy().merge(b), b)
        same_state(b.copy().merge(fresh), b)
        same_state(fresh.copy().merge(fresh), fresh)
    empty = ob.create(case[0], **case[1])
    same_state(empty.copy().merge(learned(case, X[:0], y[:0])), learned(case, X[:0], y[:0]))
    taken = empty.merge(b).partial_fit(X, y)
    same_state(taken, b.copy().partial_fit(X, y))
    same_state(b, learned(case, X, y))


@pytest.mark.parametrize("case", EVERY, ids=stated)
def test_merging_with_itself_equals_merging_with_a_copy(case, same_state):
    X, y = data(case[0], 6, 3)
    one, other = (learned(case, X, y) for _ in range(2))
    same_state(one.merge(one), other.merge(other.copy()))
    assert one.n_samples_seen_ == 12


@pytest.mark.parametrize("case", EVERY, ids=stated)
def test_restored_learners_of_other_backends_are_merged(case, same_state, tmp_path):
    kernels = {m: registry().kernel("numpy", m) for m in ob.methods() if ("numpy", m) in registry().kernels}
    ob.register(offering("twin", kernels), "twin")
    try:
        X, y = data(case[0], 8, 3)
        a, b = learned(case, X[:3], y[:3]), learned(case, X[3:], y[3:])
        want = a.copy().merge(b)
        b.save(tmp_path / "b.npz")
        same_state(ob.restore(a.state()).merge(ob.load(tmp_path / "b.npz")), want)
        same_state(a.copy().merge(ob.restore(b.state(), backend="twin")), want)
        moved = ob.restore(a.state(), backend="twin").merge(b)
        assert moved.backend.name == "twin"
        same_state(ob.restore(moved.state(), backend="numpy"), want)
    finally:
        ob.unregister("twin")


def test_initial_weights_stay_in_the_state():
    """A merge needs the w_0 of the prior, which learning does not change."""
    X, y = make_rows(40, 3)
    w0 = [1.0, -2.0, 0.5]
    learner = ob.create("rls", initial_weights=w0)
    sizes = [learner.partial_fit(X, y).state_bytes for _ in range(3)]
    assert sizes == [8 * (3 + 9 + 1)] * 3
    assert learner.array("initial_weights").tolist() == w0
    assert sum(a.nbytes for a in learner.state().variables.values()) == sizes[0] + 8 * 3
    again = ob.restore(ob.restore(learner.state()).state())
    assert again.initial_weights.tolist() == w0
    with pytest.raises(ValueError, match="started from different initial_weights"):
        again.merge(ob.create("rls").partial_fit(X, y))


def test_rounds_of_learning_and_averaging(same_state):
    """Krasulina paper, eq. (18): all continue from the mean; each keeps the t of its own steps."""
    X, y = make_rows(24, 3)
    step = {"power": {"eta0": 0.3, "power": 0.8}}
    learners = [ob.create("lms", step_size=step) for _ in range(3)]
    w, t = np.zeros(3), 0
    for round_ in range(4):
        ends = []
        for j, learner in enumerate(learners):
            rows = slice(6 * round_ + 2 * j, 6 * round_ + 2 * j + 2)
            v = w
            for i, (x, target) in enumerate(zip(X[rows], y[rows], strict=True), start=1):
                v = v + 0.3 / (t + i) ** 0.8 * (target - x @ v) * x
            ends.append(v)
            learner.partial_fit(X[rows], y[rows])
        w, t = np.mean(ends, axis=0), t + 2
        if round_ == 2:  # a learner that was saved in between continues like the others
            learners = [learners[0], ob.restore(learners[1].state()), learners[2].copy()]
        ob.average(learners)
        for learner in learners:
            np.testing.assert_allclose(learner.array("w")[:, 0], w, rtol=1e-13)
            assert (learner.state().attrs["t"], learner.n_samples_seen_) == (t, t)


def test_state_counts_merged_learners():
    X, y = make_rows(9, 3)
    state = of("rls").merge(ob.create("rls").partial_fit(X, y)).state()
    head = json.loads(state.attrs["orfit_bench"])
    assert (head["t"], head["n_samples_seen"]) == (14, 14)
