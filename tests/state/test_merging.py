"""Two learners that saw different rows become one, and several the mean of their weights."""

import json

import numpy as np
import pytest
from conftest import make_cubic, make_rows
from helpers.cases import offering
from helpers.methods import change
from hypothesis import given
from hypothesis import strategies as st

import orfit_bench as ob
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Merge, bound

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


CUBIC, EPS = make_cubic(), np.finfo(float).eps


def said(case):
    return " ".join([case[0], *(f"{k}={np.shape(v) or v}" for k, v in case[1].items())])


def data(method, n, d, seed=0):
    """Rows with the targets that the method learns."""
    X, y = make_rows(n, d, seed=seed)
    return X, (np.where(y > 0.5, "high", "low") if method == "class_rls" else y)


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


# ---------------------------------------------------------------------- exact


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
def test_rows_that_agree_may_stand_on_both_sides(dtype):
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
    for settings in ({"forgetting_factor": 0.9}, {"forgetting_factor": 0.0}):
        n = 20 if settings["forgetting_factor"] else 4
        a, b = (learned(("rls", settings), X[s], Y[s]) for s in (slice(0, 2), slice(2, n)))
        assert_close(a.merge(b), learned(("rls", settings), X[:n], Y[:n]), 1e-12)


def test_lost_digits_stay_lost():
    X, y = make_rows(30, 3)
    with pytest.warns(ob.AccuracyWarning):
        b = ob.create("rls").partial_fit(1e6 * X, y)
    a = ob.create("rls").partial_fit(X, y).merge(b)  # whoever made b was told
    assert a.state()["precision_lost"] == 1
    assert a.merge(ob.create("rls").partial_fit(X, y)).state()["precision_lost"] == 1


# ---------------------------------------------------------------------- averaged and approximate


@pytest.mark.parametrize("case", WEIGHTED, ids=said)
@given(cuts=st.tuples(st.integers(1, 11), st.integers(1, 11)).map(sorted), nonlinear=st.booleans())
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


# ---------------------------------------------------------------------- what every merge keeps to

EVERY = [*TALL[:5], *WIDE[:2], ("greedy", {}), ("lms", {}), ("apa", {}), ("ogd", {})]


@pytest.mark.parametrize("case", EVERY, ids=said)
def test_a_fresh_side_gives_the_others_state(case, same_state):
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
def test_with_itself_it_is_as_with_its_copy(case, same_state):
    X, y = data(case[0], 6, 3)
    one, other = (learned(case, X, y) for _ in range(2))
    same_state(one.merge(one), other.merge(other.copy()))
    assert one.n_samples_seen_ == 12


@pytest.mark.parametrize("case", EVERY, ids=said)
def test_the_sides_may_be_restored_and_on_other_backends(case, same_state, tmp_path):
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


# ---------------------------------------------------------------------- what is refused


def lms(X=None, y=None, **settings):
    if X is None:
        X, y = make_rows(5)
    return ob.create("lms", **settings).partial_fit(X, y)


def of(method, **settings):
    return ob.create(method, **settings).partial_fit(*data(method, 5, 3))


REFUSED = {
    "another method": (lambda: (lms(), of("nlms")), "differ in method: lms and nlms"),
    "no learner": (lambda: (lms(), 3), "differ in method: lms and int"),
    "settings": (lambda: (lms(), lms(step_size=0.5)), "settings differ: step_size is"),
    "dtype": (lambda: (lms(), lms(dtype="float32")), "differ in dtype"),
    "features": (lambda: (lms(), lms(np.eye(2), [1, 2])), "differ in features"),
    "outputs": (lambda: (lms(np.eye(2), np.eye(2)), lms(np.eye(2), np.ones((2, 3)))), "differ in outputs"),
    "a vector": (lambda: (lms(np.eye(2), [1, 2]), lms(np.eye(2), [[1], [2]])), "differ in outputs"),
    "model": (lambda: (lms(), lms(model=CUBIC)), "differ in model"),
    "start": (lambda: (lms(), lms(initial_weights=[0.0, 0, 1])), "started from different initial_weights"),
    "waiting here": (lambda: (of("orfit", batch_size=3), ob.create("orfit", batch_size=3)), "rows wait in one"),
    "waiting there": (lambda: (ob.create("orfit", batch_size=3), of("orfit", batch_size=3)), "rows wait in one"),
    "labels": (
        lambda: (of("class_rls"), ob.create("class_rls").partial_fit(np.eye(3), [1, 2, 3])),
        "labels are of different kinds: int, str",
    ),
    "memory": (lambda: (of("icl", memory=3), of("icl", memory=3)), "cannot be merged here: with memory=3 earlier"),
    "memory of orfit": (lambda: (of("orfit", memory=3), of("orfit", memory=3)), "with memory=3 earlier rows"),
    "a model": (lambda: (of("icl", model=CUBIC), of("icl", model=CUBIC)), "took gradients at different weights"),
    "rls on a model": (lambda: (of("rls", model=CUBIC), of("rls", model=CUBIC)), "took gradients at different"),
    "remembers": (
        lambda: (of("rls", forgetting_factor=1e40), of("rls", forgetting_factor=1e40)),
        "rls cannot be merged here: too few digits are left in the sum",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_named_and_nothing_changes(case, same_state):
    make, message = REFUSED[case]
    a, b = make()
    before = a.copy(), b.copy() if isinstance(b, ob.Learner) else None
    with pytest.raises(ValueError, match=message):
        a.merge(b)
    same_state(a, before[0])
    if before[1]:
        same_state(b, before[1])


@pytest.mark.parametrize("method", ["rls", "class_rls"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("wrong", ["negative", "singular", "rounding"])
def test_a_P_without_digits_is_refused(wrong, dtype, method, same_state):
    """A state that learning would not have let come so far, on either side; no class of the other's stays behind."""
    X, y = data(method, 9, 3)
    a = ob.create(method, dtype=dtype).partial_fit(X, y)
    state = ob.create(method, dtype=dtype).partial_fit(X, ["new"] * 9 if method == "class_rls" else y).state()
    eps = np.finfo(dtype).eps
    state["P"].values[...] = 1 + np.diag([0, {"negative": -4.0, "singular": 0.0, "rounding": eps}[wrong], 1.0])
    b = ob.restore(state)
    before = a.copy(), b.copy()
    for one, other, which in ((a, b, "the other's P"), (b, a, "P")):
        with pytest.raises(ValueError, match=f"too few digits are left in {which}: to rounding it is not positive"):
            one.merge(other)
    same_state(a, before[0])
    same_state(b, before[1])


def test_a_method_without_a_rule_says_so(same_state):
    rule = change(ob.methods()["lms"], name="lms_alone", combine={"merge": None}, theory={"laws": ()})
    with declared(rule) as name:
        a, b = of(name), of(name)
        before = a.copy()
        with pytest.raises(ValueError, match="lms_alone has no rule for merging"):
            a.merge(b)
        same_state(a, before)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda a, b, s: {"w": a.fields["w"][:1]}, r"cannot be merged here: state: 'w' has shape \(1, 1\)"),
        (lambda a, b, s: {"w": a.fields["w"] * np.nan}, "'w' holds numbers that are not finite"),
        (lambda a, b, s: {"w": a.fields["w"] + 1e300}, "'w' holds numbers that are not finite"),
        (lambda a, b, s: 1 / 0, "division"),
    ],
)
def test_a_rule_that_fails_changes_nothing(rule, message, same_state):
    merge = Merge("averaged", "", rule)
    wrong = change(ob.methods()["lms"], name="lms_wrong", combine={"merge": merge}, theory={"laws": ()})
    with declared(wrong) as name:
        a, b = of(name, dtype="float32"), of(name, dtype="float32")
        before = a.copy()
        with pytest.raises((ValueError, ZeroDivisionError), match=message):
            a.merge(b)
        same_state(a, before)


def declared(method):
    """A method with the kernel of lms, for as long as the context lasts."""
    from contextlib import contextmanager

    class Plugin:
        SPEC_VERSION = (1, 0)

        @ob.hookimpl
        def methods(self):
            return [method]

        @ob.hookimpl
        def kernels(self):
            return {("numpy", method.name): registry().kernel("numpy", "lms")}

    @contextmanager
    def context():
        ob.register(Plugin(), "declared")
        try:
            yield method.name
        finally:
            ob.unregister("declared")

    return context()


def test_a_kind_of_merging_is_one_of_three():
    with pytest.raises(ValueError, match="kind 'rough', want one of exact, averaged, approximate"):
        Merge("rough", "", lambda a, b, s: {})


def test_learners_of_different_draws_are_averaged():
    a, b = (ob.create("lms", model=CUBIC, random_state=i).partial_fit(*make_rows(5, 3)) for i in (0, 1))
    mean = (a.state()["w"].values + b.state()["w"].values) / 2
    np.testing.assert_allclose(a.merge(b).state()["w"].values, mean, rtol=1e-14)


def test_every_exact_merge_is_a_law():
    for method in ob.methods().values():
        exact = method.combine.merge is not None and method.combine.merge.kind == "exact"
        assert any(law.name == "merge_is_exact" for law in method.theory.laws) == exact, method.name


# ---------------------------------------------------------------------- rounds


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


def test_learners_on_different_backends_are_not_averaged(same_state):
    ob.register(offering("twin", {"lms": registry().kernel("numpy", "lms")}), "twin")
    try:
        a, b = lms(), lms(backend="twin")
        before = a.copy()
        with pytest.raises(ValueError, match="the learners differ in backend"):
            ob.average([a, b])
        same_state(a, before)
    finally:
        ob.unregister("twin")


def test_a_state_says_what_was_merged():
    X, y = make_rows(9, 3)
    state = of("rls").merge(ob.create("rls").partial_fit(X, y)).state()
    head = json.loads(state.attrs["orfit_bench"])
    assert (head["t"], head["n_samples_seen"]) == (14, 14)


def test_settings_that_differ_in_a_matrix_are_said_by_their_shapes():
    starts = (np.eye(60)[:, :2], np.eye(60)[:, 1:3])
    learners = [ob.create("sanger", backend="numpy", n_components=2, initial_basis=C) for C in starts]
    with pytest.raises(
        ValueError, match=r"initial_basis is <array of shape \(60, 2\)> and <array of shape \(60, 2\)>$"
    ):
        ob.average(learners)
