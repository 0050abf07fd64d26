"""Merging: exact where the method declares it, otherwise the declared mean or approximation."""

import json

import numpy as np
import pytest
from conftest import make_rows
from helpers.cases import offering
from helpers.merging import CUBIC, EPS, data, of
from hypothesis import given, settings
from hypothesis import strategies as st

import orfit_bench as ob
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import bound

WEIGHTED = [
    (name, {})
    for name, m in ob.methods().items()
    if m.kind == "regression" and not m.state.layered and m.combine.merge and m.combine.merge.kind == "averaged"
]
TALL = [
    ("rls", {}),
    ("rls", {"forgetting_factor": 0.9, "ridge": 0.3}),
    ("rls", {"forgetting_factor": 1.05}),
    ("rls", {"initial_weights": [1.0, -2.0, 0.5]}),
    ("ridge", {}),
    ("ridge", {"forgetting_factor": 0.9, "ridge": 0.3}),
    ("ridge", {"forgetting_factor": 1.05}),
    ("ridge", {"initial_weights": [1.0, -2.0, 0.5]}),
    ("class_rls", {"ridge": 2.0}),
    ("class_rls", {"forgetting_factor": 0.95}),
    ("greedy", {}),
]
"""Exact, for rows of any number."""
WIDE = [
    ("icl", {}),
    ("orfit", {}),
    ("orfit", {"summary": "largest"}),
    ("rls", {"forgetting_factor": 0.0}),
    ("icl", {"initial_weights": np.linspace(-1, 1, 20)}),
]
"""Exact while the rows are independent."""


def said(case):
    return " ".join([case[0], *(f"{k}={np.shape(v) or v}" for k, v in case[1].items())])


def learned(case, X, y, **more):
    return ob.create(case[0], **case[1], **more).partial_fit(X, y)


def fields(learner):
    """The state's arrays in float64; a class by its name, since merging may find another order."""
    arrays = {name: a.values.astype(float) for name, a in learner.state().variables.items()}
    if hasattr(learner, "classes_"):
        arrays["w"] = arrays["w"][:, np.argsort(learner.classes_)]
    if "basis" in arrays:  # its rows depend on the order, their span does not
        arrays["basis"] = arrays["basis"].T @ arrays["basis"]
    return arrays


def assert_close(got, want, tolerance):
    assert (got.state().attrs["t"], got.n_samples_seen_) == (want.state().attrs["t"], want.n_samples_seen_)
    one, other = fields(got), fields(want)
    assert one.keys() == other.keys()
    for name, value in one.items():
        scale = abs(other[name]).max(initial=1.0)
        np.testing.assert_allclose(value, other[name], rtol=0, atol=tolerance * scale, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("case", TALL, ids=said)
@given(
    cuts=st.tuples(st.integers(1, 28), st.integers(1, 28)).map(sorted),
    seed=st.integers(0, 99),
    dtype=st.sampled_from(["float64", "float32"]),
)
def test_merged_is_one_learner_for_all_rows(case, cuts, seed, dtype):
    """In whatever order; and it goes on like that one. Parts may be empty or shorter than a row is long."""
    X, y = data(case[0], 40, 3, seed)
    i, j = cuts
    whole = learned(case, X[:30], y[:30], dtype=dtype)
    left, right = ([learned(case, X[s], y[s], dtype=dtype) for s in _parts(i, j, 30)] for _ in range(2))
    kept = [it.copy() for it in left]
    first = left[0].merge(left[1]).merge(left[2])
    last = right[0].merge(right[1].merge(right[2]))
    tolerance = bound(dtype, 30, float(np.linalg.cond(np.vstack([X[:30], np.eye(3)]))), 2)
    assert_close(first, whole, tolerance)
    assert_close(last, whole, tolerance)
    for it, was in zip(left[1:], kept[1:], strict=True):
        assert it.state().identical(was.state())
    assert_close(first.partial_fit(X[30:], y[30:]), whole.partial_fit(X[30:], y[30:]), 2 * tolerance)


@pytest.mark.parametrize("case", WIDE, ids=said)
@given(
    cuts=st.tuples(st.integers(1, 11), st.integers(1, 11)).map(sorted),
    seed=st.integers(0, 99),
    dtype=st.sampled_from(["float64", "float32"]),
)
@settings(max_examples=20)
def test_merged_constraints_are_those_of_all_rows(case, cuts, seed, dtype):
    X, y = make_rows(15, 20, seed=seed)
    whole = learned(case, X[:12], y[:12], dtype=dtype)
    left, right = ([learned(case, X[s], y[s], dtype=dtype) for s in _parts(*cuts, 12)] for _ in range(2))
    first = left[0].merge(left[1]).merge(left[2])
    tolerance = bound(dtype, 15, float(np.linalg.cond(X)), 1)
    assert_close(first, whole, tolerance)
    assert_close(right[0].merge(right[1].merge(right[2])), whole, tolerance)
    assert_close(first.partial_fit(X[12:], y[12:]), whole.partial_fit(X[12:], y[12:]), 2 * tolerance)
    np.testing.assert_allclose(first.predict(X), y, rtol=0, atol=10 * tolerance * abs(y).max())


def _parts(i, j, n):
    return slice(0, i), slice(i, j), slice(j, n)


@pytest.mark.parametrize("batch_size", [3, 5])
def test_batches_merge_with_their_steps_counted(batch_size):
    X, y = make_rows(12, 20)
    a, b, whole = (ob.create("orfit", batch_size=batch_size) for _ in range(3))
    a.partial_fit(X[:7], y[:7]).flush().merge(b.partial_fit(X[7:], y[7:]).flush())
    whole.partial_fit(X[:7], y[:7]).flush().partial_fit(X[7:], y[7:]).flush()
    assert_close(a, whole, 1e-12)


@pytest.mark.parametrize("ff", [0.9, 1.0])
def test_without_a_prior_there_is_none_to_count_once(ff):
    """Forgetting acts once a step, and the first block is one."""
    X, y = make_rows(20, 3)
    a, b, whole = (ob.create("rls", ridge=0.0, forgetting_factor=ff) for _ in range(3))
    a.step(X[:4], y[:4]).partial_fit(X[4:9], y[4:9])
    b.step(X[9:15], y[9:15]).partial_fit(X[15:], y[15:])
    whole.step(X[:4], y[:4]).partial_fit(X[4:9], y[4:9]).step(X[9:15], y[9:15]).partial_fit(X[15:], y[15:])
    assert_close(a.merge(b), whole, 1e-13)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_consistent_rows_may_be_on_both_sides(dtype):
    """The union knows no row twice; where targets of the same row differ, a's stays."""
    X, w = make_rows(8, 12)[0].astype(dtype), np.linspace(1, 2, 12)
    y, close = X @ w, 100 * np.finfo(dtype).eps
    one, other = (ob.create("icl", dtype=dtype).partial_fit(X[s], y[s]) for s in (slice(0, 6), slice(3, 8)))
    merged = one.merge(other)
    assert merged.state()["basis"].shape == (8, 12)
    np.testing.assert_allclose(merged.state()["w"].values[:, 0], np.linalg.pinv(X) @ y, rtol=0, atol=close)
    clash = ob.create("icl", dtype=dtype).partial_fit(X[:1], y[:1] + 1)
    before = merged.state()["w"].values
    np.testing.assert_array_equal(merged.merge(clash).state()["w"].values, before)


def test_nearly_the_same_row_leaves_the_basis_orthonormal():
    """Its residual is 1e-6 of it: one orthogonalisation leaves 1e-10 of the others in what remains."""
    X, y = (a.copy() for a in make_rows(6, 9))
    X[3:] = X[:3] + 1e-6 * X[3:]
    one, other = (ob.create("orfit").partial_fit(X[s], y[s]) for s in (slice(0, 3), slice(3, 6)))
    U = one.merge(other).state()["basis"].values
    np.testing.assert_allclose(U @ U.T, np.eye(6), rtol=0, atol=1e-14)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_full_basis_takes_in_no_more(dtype):
    X, y = make_rows(6, 4)
    one, other = (ob.create("orfit", dtype=dtype).partial_fit(X[s], y[s]) for s in (slice(0, 4), slice(2, 6)))
    before = one.state()["w"].values
    merged = one.merge(other)
    assert merged.state()["basis"].shape == (4, 4)
    np.testing.assert_array_equal(merged.state()["w"].values, before)
    merged.partial_fit(X, y)  # room and count fit


def test_classes_of_both_stand_in_order_of_first_appearance():
    X, _ = make_rows(12, 3)
    labels = np.array(list("babb" + "cacb" + "dddd"))
    parts = [ob.create("class_rls").partial_fit(X[s], labels[s]) for s in _parts(4, 8, 12)]
    whole = ob.create("class_rls").partial_fit(X, labels)
    merged = parts[0].merge(parts[1]).merge(parts[2])
    assert merged.classes_.tolist() == whole.classes_.tolist() == ["b", "a", "c", "d"]
    assert parts[1].classes_.tolist() == ["c", "a", "b"]
    np.testing.assert_allclose(merged.state()["w"].values, whole.state()["w"].values, rtol=0, atol=1e-14)
    assert merged.predict(X).tolist() == whole.predict(X).tolist()


def test_several_outputs_merge_together():
    X, Y = make_rows(20, 4, outputs=3)
    for chosen in ({"forgetting_factor": 0.9}, {"forgetting_factor": 0.0}):
        n = 20 if chosen["forgetting_factor"] else 4
        a, b = (learned(("rls", chosen), X[s], Y[s]) for s in (slice(0, 2), slice(2, n)))
        assert_close(a.merge(b), learned(("rls", chosen), X[:n], Y[:n]), 1e-12)


def test_lost_digits_stay_lost():
    X, y = make_rows(30, 3)
    with pytest.warns(ob.AccuracyWarning):
        b = ob.create("rls").partial_fit(1e6 * X, y)
    a = ob.create("rls").partial_fit(X, y).merge(b)  # whoever made b was told
    assert a.state()["precision_lost"] == 1
    assert a.merge(ob.create("rls").partial_fit(X, y)).state()["precision_lost"] == 1


@pytest.mark.parametrize("case", WEIGHTED, ids=said)
@given(cuts=st.tuples(st.integers(1, 11), st.integers(1, 11)).map(sorted), nonlinear=st.booleans())
@settings(max_examples=20)
def test_averaged_weights_count_by_rows(case, cuts, nonlinear):
    X, y = make_rows(12, 3)
    model = {"model": CUBIC} if nonlinear else {}
    sizes = np.diff([0, *cuts, 12])
    left, right = ([learned(case, X[s] / 4, y[s] / 4, **model) for s in _parts(*cuts, 12)] for _ in range(2))
    parts = [it.state()["w"].values for it in left]
    want = sum(n * w for n, w in zip(sizes, parts, strict=True)) / 12
    for merged in (left[0].merge(left[1]).merge(left[2]), right[0].merge(right[1].merge(right[2]))):
        np.testing.assert_allclose(merged.state()["w"].values, want, rtol=0, atol=4 * EPS * abs(np.array(parts)).max())
        assert (merged.state().attrs["t"], merged.n_samples_seen_) == (max(sizes), 12)
        merged.partial_fit(X, y)


@pytest.mark.parametrize("order", [1, 4, None])
@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("model", [None, CUBIC], ids=["linear", "cubic"])
@pytest.mark.parametrize("split", [1, 3, 6, 9])
def test_the_window_of_apa_holds_the_last_rows_of_both(order, outputs, model, split):
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
def test_ogd_keeps_the_predictions_of_the_first(memory):
    """w_a + (I - U_a U_a')(w_b - w_0); the basis is full once `memory` directions are kept, as in learning."""
    X, y = make_rows(8, 12)
    w0 = np.linspace(0, 1, 12)
    case = ("ogd", {"memory": memory, "step_size": 0.05, "initial_weights": w0})
    a, b = learned(case, X[:3], y[:3]), learned(case, X[3:], y[3:])
    before, move = a.predict(X[:3]), b.state()["w"].values[:, 0] - w0
    off = np.eye(12) - np.linalg.pinv(X[:3]) @ X[:3]
    want = a.state()["w"].values[:, 0] + off @ move
    a.merge(b)
    np.testing.assert_allclose(a.state()["w"].values[:, 0], want, rtol=0, atol=1e-14)
    np.testing.assert_allclose(a.predict(X[:3]), before, rtol=0, atol=1e-14)
    kept = X[: memory or 8]
    U = a.state()["basis"].values
    np.testing.assert_allclose(U.T @ U, np.linalg.pinv(kept) @ kept, rtol=0, atol=1e-13)
    assert a.state().attrs["t"] == 5


EVERY = [*TALL[:5], *WIDE[:2], ("greedy", {}), ("lms", {}), ("apa", {}), ("ogd", {})]


@pytest.mark.parametrize("case", EVERY, ids=said)
def test_merging_with_a_fresh_learner_gives_the_other_state(case, same_state):
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


@pytest.mark.parametrize("case", EVERY, ids=said)
def test_merging_with_itself_equals_merging_with_a_copy(case, same_state):
    X, y = data(case[0], 6, 3)
    one, other = (learned(case, X, y) for _ in range(2))
    same_state(one.merge(one), other.merge(other.copy()))
    assert one.n_samples_seen_ == 12


@pytest.mark.parametrize("case", EVERY, ids=said)
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


def test_the_start_stays_in_the_state_and_costs_nothing_more():
    """The prior's w_0 is needed as long as there may be a merge; it is the same array whatever was learned."""
    X, y = make_rows(40, 3)
    w0 = [1.0, -2.0, 0.5]
    learner = ob.create("rls", initial_weights=w0)
    sizes = [learner.partial_fit(X, y).state_bytes for _ in range(3)]
    assert sizes == [8 * (3 + 9 + 1)] * 3
    assert learner.state()["initial_weights"].values.tolist() == w0
    assert sum(a.nbytes for a in learner.state().variables.values()) == sizes[0] + 8 * 3
    again = ob.restore(ob.restore(learner.state()).state())
    assert again.initial_weights.tolist() == w0
    with pytest.raises(ValueError, match="started from different initial_weights"):
        again.merge(ob.create("rls").partial_fit(X, y))


def test_rounds_of_learning_apart_and_averaging(same_state):
    """Krasulina paper, eq. (18): all go on from the mean; each keeps the t of its own steps."""
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
        if round_ == 2:  # a learner that was kept in between goes on like the others
            learners = [learners[0], ob.restore(learners[1].state()), learners[2].copy()]
        ob.average(learners)
        for learner in learners:
            np.testing.assert_allclose(learner.state()["w"].values[:, 0], w, rtol=1e-13)
            assert (learner.state().attrs["t"], learner.n_samples_seen_) == (t, t)


def test_a_state_says_what_was_merged():
    X, y = make_rows(9, 3)
    state = of("rls").merge(ob.create("rls").partial_fit(X, y)).state()
    head = json.loads(state.attrs["orfit_bench"])
    assert (head["t"], head["n_samples_seen"]) == (14, 14)
