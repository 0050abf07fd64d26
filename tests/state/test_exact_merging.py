"""Exact merges: one learner for all rows."""

import numpy as np
import pytest
from conftest import make_rows
from helpers.merging import TALL, WIDE, _parts, data, learned, stated
from hypothesis import given, settings
from hypothesis import strategies as st

import orfit_bench as ob
from orfit_bench.spec import bound


def fields(learner):
    """The state's arrays in float64; a class by its name, since merging may find another order."""
    arrays = {name: a.values.astype(float) for name, a in learner.state().variables.items()}
    if hasattr(learner, "classes_"):
        arrays["w"] = arrays["w"][:, np.argsort(learner.classes_)]
    if "basis" in arrays:  # the rows of a basis depend on the order, their span does not
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
@pytest.mark.parametrize("case", TALL, ids=stated)
@given(
    cuts=st.tuples(st.integers(1, 28), st.integers(1, 28)).map(sorted),
    seed=st.integers(0, 99),
    dtype=st.sampled_from(["float64", "float32"]),
)
def test_merge_equals_one_learner_of_all_rows(case, cuts, seed, dtype):
    """This holds in any order, also for further rows. Parts may be empty or have fewer rows than features."""
    X, y = data(case[0], 40, 3, seed)
    i, j = cuts
    complete = learned(case, X[:30], y[:30], dtype=dtype)
    left, right = ([learned(case, X[s], y[s], dtype=dtype) for s in _parts(i, j, 30)] for _ in range(2))
    kept = [it.copy() for it in left]
    first = left[0].merge(left[1]).merge(left[2])
    last = right[0].merge(right[1].merge(right[2]))
    tolerance = bound(dtype, 30, float(np.linalg.cond(np.vstack([X[:30], np.eye(3)]))), 2)
    assert_close(first, complete, tolerance)
    assert_close(last, complete, tolerance)
    for it, was in zip(left[1:], kept[1:], strict=True):
        assert it.state().identical(was.state())
    assert_close(first.partial_fit(X[30:], y[30:]), complete.partial_fit(X[30:], y[30:]), 2 * tolerance)


@pytest.mark.parametrize("case", WIDE, ids=stated)
@given(
    cuts=st.tuples(st.integers(1, 11), st.integers(1, 11)).map(sorted),
    seed=st.integers(0, 99),
    dtype=st.sampled_from(["float64", "float32"]),
)
@settings(max_examples=20)
def test_merged_constraints_are_those_of_all_rows(case, cuts, seed, dtype):
    X, y = make_rows(15, 20, seed=seed)
    complete = learned(case, X[:12], y[:12], dtype=dtype)
    left, right = ([learned(case, X[s], y[s], dtype=dtype) for s in _parts(*cuts, 12)] for _ in range(2))
    first = left[0].merge(left[1]).merge(left[2])
    tolerance = bound(dtype, 15, float(np.linalg.cond(X)), 1)
    assert_close(first, complete, tolerance)
    assert_close(right[0].merge(right[1].merge(right[2])), complete, tolerance)
    assert_close(first.partial_fit(X[12:], y[12:]), complete.partial_fit(X[12:], y[12:]), 2 * tolerance)
    np.testing.assert_allclose(first.predict(X), y, rtol=0, atol=10 * tolerance * abs(y).max())


@pytest.mark.parametrize("batch_size", [3, 5])
def test_merged_batches_count_their_steps(batch_size):
    X, y = make_rows(12, 20)
    a, b, complete = (ob.create("orfit", batch_size=batch_size) for _ in range(3))
    a.partial_fit(X[:7], y[:7]).flush().merge(b.partial_fit(X[7:], y[7:]).flush())
    complete.partial_fit(X[:7], y[:7]).flush().partial_fit(X[7:], y[7:]).flush()
    assert_close(a, complete, 1e-12)


@pytest.mark.parametrize("ff", [0.9, 1.0])
def test_merge_without_a_prior(ff):
    """Forgetting acts once per step, and the first block is one step."""
    X, y = make_rows(20, 3)
    a, b, complete = (ob.create("rls", ridge=0.0, forgetting_factor=ff) for _ in range(3))
    a.step(X[:4], y[:4]).partial_fit(X[4:9], y[4:9])
    b.step(X[9:15], y[9:15]).partial_fit(X[15:], y[15:])
    complete.step(X[:4], y[:4]).partial_fit(X[4:9], y[4:9]).step(X[9:15], y[9:15]).partial_fit(X[15:], y[15:])
    assert_close(a.merge(b), complete, 1e-13)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_consistent_rows_may_be_in_both_learners(dtype):
    """The union contains no row twice; if targets of the same row differ, a's stays."""
    X, w = make_rows(8, 12)[0].astype(dtype), np.linspace(1, 2, 12)
    y, close = X @ w, 100 * np.finfo(dtype).eps
    one, other = (ob.create("icl", dtype=dtype).partial_fit(X[s], y[s]) for s in (slice(0, 6), slice(3, 8)))
    merged = one.merge(other)
    assert merged.state()["basis"].shape == (8, 12)
    np.testing.assert_allclose(merged.array("w")[:, 0], np.linalg.pinv(X) @ y, rtol=0, atol=close)
    clash = ob.create("icl", dtype=dtype).partial_fit(X[:1], y[:1] + 1)
    before = merged.array("w")
    np.testing.assert_array_equal(merged.merge(clash).array("w"), before)


def test_nearly_equal_rows_leave_the_basis_orthonormal():
    """Its residual is 1e-6 of it: one orthogonalization leaves 1e-10 of the others in what remains."""
    X, y = (a.copy() for a in make_rows(6, 9))
    X[3:] = X[:3] + 1e-6 * X[3:]
    one, other = (ob.create("orfit").partial_fit(X[s], y[s]) for s in (slice(0, 3), slice(3, 6)))
    U = one.merge(other).array("basis")
    np.testing.assert_allclose(U @ U.T, np.eye(6), rtol=0, atol=1e-14)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_full_basis_accepts_no_more_rows(dtype):
    X, y = make_rows(6, 4)
    one, other = (ob.create("orfit", dtype=dtype).partial_fit(X[s], y[s]) for s in (slice(0, 4), slice(2, 6)))
    before = one.array("w")
    merged = one.merge(other)
    assert merged.state()["basis"].shape == (4, 4)
    np.testing.assert_array_equal(merged.array("w"), before)
    merged.partial_fit(X, y)  # room and count fit


def test_merged_classes_are_in_order_of_first_appearance():
    X, _ = make_rows(12, 3)
    labels = np.array(list("babb" + "cacb" + "dddd"))
    parts = [ob.create("class_rls").partial_fit(X[s], labels[s]) for s in _parts(4, 8, 12)]
    complete = ob.create("class_rls").partial_fit(X, labels)
    merged = parts[0].merge(parts[1]).merge(parts[2])
    assert merged.classes_.tolist() == complete.classes_.tolist() == ["b", "a", "c", "d"]
    assert parts[1].classes_.tolist() == ["c", "a", "b"]
    np.testing.assert_allclose(merged.array("w"), complete.array("w"), rtol=0, atol=1e-14)
    assert merged.predict(X).tolist() == complete.predict(X).tolist()


def test_several_outputs_are_merged():
    X, Y = make_rows(20, 4, outputs=3)
    for chosen in ({"forgetting_factor": 0.9}, {"forgetting_factor": 0.0}):
        n = 20 if chosen["forgetting_factor"] else 4
        a, b = (learned(("rls", chosen), X[s], Y[s]) for s in (slice(0, 2), slice(2, n)))
        assert_close(a.merge(b), learned(("rls", chosen), X[:n], Y[:n]), 1e-12)


def test_merge_keeps_the_flag_of_lost_precision():
    X, y = make_rows(30, 3)
    with pytest.warns(ob.AccuracyWarning):
        b = ob.create("rls").partial_fit(1e6 * X, y)
    a = ob.create("rls").partial_fit(X, y).merge(b)  # the user was warned when b was made
    assert a.state()["precision_lost"] == 1
    assert a.merge(ob.create("rls").partial_fit(X, y)).state()["precision_lost"] == 1


@pytest.mark.parametrize("method", ["rls", "ridge", "class_rls", "kalman", "sgd", "softmax"])
def test_rows_of_weight_zero_are_counted(method):
    X, y = np.eye(3), [1.0, -1.0, 1.0]
    labels = ["a", "b", "a"] if ob.methods()[method].traits.labels else y
    some = ob.create(method, backend="numpy").partial_fit(X, labels)
    none = ob.create(method, backend="numpy").partial_fit(X[:2], labels[:2], sample_weight=[0, 0])
    for one, other in ((some, none), (none, some), (none, none)):
        merged = one.copy().merge(other)
        assert merged.n_samples_seen_ == one.n_samples_seen_ + other.n_samples_seen_
        known = some if some in (one, other) else none
        answers = [getattr(it, "decision_function", it.predict)(X) for it in (merged, known)]
        np.testing.assert_array_equal(*answers)


@pytest.mark.parametrize("scale", [1.0, 1e-2, 1e-3, 1e-4, 1e-8, 1e-12])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "case",
    [
        ("rls", {"form": "square_root"}),
        ("rls", {"form": "square_root", "forgetting_factor": 0.99}),
        ("rls", {"forgetting": "directional"}),
        ("rls", {}),
        ("kalman", {"form": "square_root"}),
        ("kalman", {}),
        ("ridge", {}),
    ],
    ids=stated,
)
@pytest.mark.filterwarnings("ignore::orfit_bench.errors.AccuracyWarning")
def test_rows_that_are_small_against_the_prior_count(case, dtype, scale):
    """Their information is only rounding compared with that of the prior, but their effect on the weights is not."""
    X, y = make_rows(20, 3)
    both = learned(case, scale * X, y, dtype=dtype)
    one, other = (learned(case, scale * X[s], y[s], dtype=dtype) for s in (slice(0, 12), slice(12, 20)))
    w = both.array("w" if case[0] != "kalman" else "mean")
    got = one.merge(other).array("w" if case[0] != "kalman" else "mean")
    np.testing.assert_allclose(got, w, rtol=0, atol=50 * np.finfo(dtype).eps * np.abs(w).max())
