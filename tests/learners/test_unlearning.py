"""Rows of negative weight are unlearned: the remaining weights and digits, and refusals."""

import warnings
from contextlib import nullcontext

import numpy as np
import pytest
from helpers.weights import X, learned, weights_of, y

import orfit_bench as ob


def test_unlearning():
    learner = learned("ridge", (X, y, None), (X[:10], y[:10], -np.ones(10)))
    np.testing.assert_allclose(weights_of(learner), weights_of(learned("ridge", (X[10:], y[10:], None))), rtol=1e-10)
    mixed = learned("ridge", (X, y, None), (X[:10], y[:10], [-1, 0, -1, 2, -1, -1, -1, -1, -1, -1]))
    left = np.vstack([X[10:], X[[1, 3, 3, 3]]]), np.append(y[10:], y[[1, 3, 3, 3]])
    np.testing.assert_allclose(weights_of(mixed), weights_of(learned("ridge", (*left, None))), rtol=1e-10)
    one = learned("ridge", (X, y, None)).learn_one(X[0], y[0], sample_weight=-1.0)
    np.testing.assert_allclose(weights_of(one), weights_of(learned("ridge", (X[1:], y[1:], None))), rtol=1e-10)


def test_unlearning_with_forgetting_and_predictions():
    v = np.array([1, 1, -1, 1, -1, -1] * 5)
    for ff in (0.9, 1.1):
        learner = learned("ridge", (X, y, None), forgetting_factor=ff)
        twin = learner.copy()
        got = learner.prequential(X / 4, y, sample_weight=v)
        for i in range(30):
            np.testing.assert_allclose(twin.predict(X[i : i + 1] / 4)[0], got[i], rtol=1e-9)
            twin.partial_fit(X[i : i + 1] / 4, y[i : i + 1], sample_weight=v[i : i + 1])
        np.testing.assert_allclose(weights_of(learner), weights_of(twin), rtol=1e-9)


def test_more_than_was_learned_cannot_be_unlearned():
    learner = learned("ridge", (X[:3], y[:3], None))
    before = learner.state()
    with pytest.raises(ValueError, match="take more from ridge than it has learned"):
        learner.partial_fit(X, y, sample_weight=-np.ones(30))
    assert before.identical(learner.state())


@pytest.mark.parametrize(
    ("size", "warning"),
    [(1e2, ""), (1e5, "half of the digits of the weights"), (1e8, "leave only rounding in column 1")],
)
def test_unlearning_rows_that_are_large(size, warning):
    """The remaining sums are differences of large sums."""
    columns = np.where(np.arange(X.shape[1]) == 1, size, 1)
    learner = learned("ridge", (X[10:], y[10:], None), (X[:10] * columns, y[:10], None))
    with pytest.warns(ob.AccuracyWarning, match=warning) if warning else nullcontext():
        learner.partial_fit(X[:10] * columns, y[:10], sample_weight=-np.ones(10))
        got = weights_of(learner)
    kept = X[10:] * (np.arange(X.shape[1]) != 1) if size == 1e8 else X[10:]
    np.testing.assert_allclose(got, weights_of(learned("ridge", (kept, y[10:], None))), rtol=1e-4 if warning else 1e-10)


def test_a_learner_that_unlearned_rows_warns_once():
    learner = ob.create("rls", backend="numpy", form="square_root")
    state = learner.partial_fit(X, y).live_state
    twin = ob.create("rls", backend="numpy", form="square_root").partial_fit(X[:3], y[:3]).live_state
    state.has_warned = True
    twin.assign(state)
    assert twin.has_warned
    assert twin.n_samples == 30
    np.testing.assert_array_equal(twin.arrays.w, state.arrays.w)
    assert twin.arrays.w is not state.arrays.w


@pytest.mark.parametrize("ff", [1.0, 0.5])
def test_a_refused_call_with_weights_of_both_signs_changes_nothing(ff):
    learner = learned("ridge", (X, y, None), forgetting_factor=ff)
    before = learner.to_bytes()
    with pytest.raises(ValueError, match="take more from ridge than it has learned"):
        learner.partial_fit(np.r_[X[:5], 3 * X], np.r_[y[:5], y], sample_weight=np.r_[np.ones(5), -np.ones(30)])
    assert learner.to_bytes() == before


def test_unlearning_with_as_many_outputs_as_features():
    """The products of rows and targets are square as well, and their diagonal is negative."""
    learner = learned("ridge", (X, -X, None), (X[:10], -X[:10], -np.ones(10)))
    want = weights_of(learned("ridge", (X[10:], -X[10:], None)))
    np.testing.assert_allclose(weights_of(learner), want, rtol=1e-10, atol=1e-14)


def test_rows_before_one_that_overflows_are_unlearned():
    rows = np.r_[X[:4], [[1e200, 0, 0, 0]], X[4:8]]
    learner, want = (learned("ridge", (X, y, None)) for _ in range(2))
    with pytest.raises(ob.DivergedError, match="row 4 of this call"):
        learner.partial_fit(rows, y[:9], sample_weight=-np.ones(9))
    want.partial_fit(X[:4], y[:4], sample_weight=-np.ones(4))
    np.testing.assert_allclose(weights_of(learner), weights_of(want), rtol=1e-12)
    assert learner.n_samples_seen_ == want.n_samples_seen_


def test_what_rows_were_unlearned_from_is_merged():
    half = learned("ridge", (1e2 * X[:10], y[:10], None), (X[10:20], y[10:20], None), dtype="float32")
    half.partial_fit(1e2 * X[:10], y[:10], sample_weight=-np.ones(10))
    other = learned("ridge", (X[20:], y[20:], None), dtype="float32")
    for merged in (half.copy().merge(other), other.copy().merge(half)):
        assert merged.live_state.minuend is not None


@pytest.mark.parametrize("ff", [1.0, 0.5])
def test_unlearning_a_window_whose_rows_become_smaller(ff):
    """Rounding errors of large sums stay, however slowly the window shrinks, unless they are forgotten.

    Rows that count as never seen cannot be unlearned later.
    """
    learner, rows = ob.create("ridge", dtype="float32", ridge=1e-9, forgetting_factor=ff), np.tile(X, (4, 1))
    rows = (rows * np.geomspace(1e3, 1e-3, len(rows))[:, None]).astype("float32")
    weight = -np.ones(1) * ff**25  # steps forget, including those that unlearn
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        for i, x in enumerate(rows):
            learner.partial_fit(x[None], [1.0])
            if i >= 10 and not given:
                learner.partial_fit(rows[i - 10 : i - 9], [1.0], sample_weight=weight)
    assert ["only rounding" in str(one.message) for one in given] == [True] * (ff == 1.0)
    if ff == 1.0:
        with pytest.raises(ValueError, match="take more from ridge than it has learned"):
            learner.partial_fit(rows[:20], np.ones(20), sample_weight=-np.ones(20))


@pytest.mark.parametrize("ridge", [0.0, 1e-6, 1.0])
@pytest.mark.parametrize("size", [1.0, 0.1, 1 / 3])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.filterwarnings("ignore::orfit_bench.AccuracyWarning")
def test_a_window_of_categories(dtype, size, ridge):
    """A category whose last row has left the window counts as never seen, and does so again when it comes back."""
    rng = np.random.default_rng(0)
    rows = (size * np.eye(4)[np.where(rng.random(200) < 0.05, 3, rng.integers(3, size=200))]).astype(dtype)
    targets = rng.standard_normal(200).astype(dtype)
    learner = ob.create("ridge", backend="numpy", dtype=dtype, ridge=ridge)
    for i, (x, target) in enumerate(zip(rows, targets, strict=True)):
        learner.partial_fit(x[None], [target])
        if i >= 30:
            learner.partial_fit(rows[i - 30 : i - 29], targets[i - 30 : i - 29], sample_weight=[-1.0])
            want = learned("ridge", (rows[i - 29 : i + 1].astype(float), targets[i - 29 : i + 1], None), ridge=ridge)
            got, exact = (one.predict(size * np.eye(4)) for one in (learner, want))
            np.testing.assert_allclose(got, exact, atol=1e-2 if dtype == "float32" else 1e-8)
