"""Weights of rows: what they mean is in the laws; here what is refused, and what is left as it was."""

import warnings
from contextlib import nullcontext

import numpy as np
import pytest

import orfit_bench as ob

BACKENDS = [name for name in ("numpy", "numba") if ob.backends()[name].available]
WEIGHTED = [name for name, m in ob.methods().items() if m.kernel.weighting]
rng = np.random.default_rng(0)
X, y = rng.standard_normal((30, 4)), rng.standard_normal(30)
LABELS = ["a", "b", "c"] * 10


def targets(name):
    return LABELS if name in ("class_rls", "softmax") else y


def learned(name, *chunks, **settings):
    learner = ob.create(name, backend="numpy", **settings)
    for rows, of, weights in chunks:
        learner.partial_fit(rows, of, sample_weight=weights)
    return learner


def weights_of(learner):
    w = learner.state()[learner.method.state.weights].values
    return w[:, np.argsort(learner.classes_)] if hasattr(learner, "classes_") else w


def test_methods_with_a_rule():
    assert WEIGHTED == ["class_rls", "kalman", "ridge", "rls", "sgd", "softmax"]


@pytest.mark.parametrize("name", sorted(set(ob.methods()) - set(WEIGHTED)))
def test_methods_without_a_rule_say_which_have_one(name):
    learner = ob.create(name, backend="numpy", **({"model": ob.MLP()} if ob.methods()[name].state.layered else {}))
    with pytest.raises(TypeError, match="have one: class_rls, kalman, ridge, rls, sgd, softmax"):
        learner.partial_fit(X, y, sample_weight=np.ones(30))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", WEIGHTED)
def test_integer_weights_equal_repetitions_in_any_chunks(name, backend):
    complete, t = rng.integers(0, 4, 30), np.asarray(targets(name))
    repeated = ob.create(name, backend=backend).partial_fit(np.repeat(X, complete, axis=0), np.repeat(t, complete))
    for cuts in ([], [1, 2, 15]):
        learner = ob.create(name, backend=backend)
        for part in np.split(np.arange(30), cuts):
            learner.partial_fit(X[part], t[part], sample_weight=complete[part])
        np.testing.assert_allclose(weights_of(learner), weights_of(repeated), rtol=1e-9, atol=1e-12)
        assert learner.n_samples_seen_ == 30


@pytest.mark.parametrize("name", WEIGHTED)
def test_one_row_at_a_time(name):
    v = np.array([0, 1, 2, 0.5, 3.25] * 6)
    chunk, rows = learned(name, (X, targets(name), v)), ob.create(name, backend="numpy")
    for x, t, weight in zip(X, targets(name), v, strict=True):
        rows.learn_one(x, t, sample_weight=weight)
    np.testing.assert_allclose(weights_of(rows), weights_of(chunk), rtol=1e-12)


@pytest.mark.parametrize("name", WEIGHTED)
def test_predictions_before_each_row(name):
    v = np.array([2, 0, 1, 0.5, 0, 0] * 5)
    kind = "decision_function" if name in ("class_rls", "softmax") else "predict"
    learner = ob.create(name, backend="numpy").partial_fit(X, targets(name))
    twin = learner.copy()
    got = learner.prequential(X, targets(name), sample_weight=v)
    for i in range(30):
        np.testing.assert_allclose(getattr(twin, kind)(X[i : i + 1])[0], got[i], rtol=1e-9)
        twin.partial_fit(X[i : i + 1], targets(name)[i : i + 1], sample_weight=v[i : i + 1])
    np.testing.assert_allclose(weights_of(learner), weights_of(twin), rtol=1e-9)


@pytest.mark.parametrize("name", WEIGHTED)
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.ones(29), r"shape \(29,\), want \(30,\)"),
        (np.ones((30, 1)), r"shape \(30, 1\)"),
        (np.where(np.arange(30) == 3, np.nan, 1), r"sample_weight\[3\] is nan"),
        (np.where(np.arange(30) == 3, np.inf, 1), r"sample_weight\[3\] is inf"),
        (np.where(np.arange(30) == 3, -1.0, 1), r"sample_weight\[3\] is -1.0: want a weight >= 0; .* with ridge only"),
    ],
)
def test_wrong_weights_change_nothing(name, wrong, message):
    if name == "ridge" and np.nanmin(wrong) < 0:
        return
    learner = ob.create(name, backend="numpy").partial_fit(X, targets(name))
    before = learner.state()
    with pytest.raises(ValueError, match=message):
        learner.partial_fit(X, targets(name), sample_weight=wrong)
    assert before.identical(learner.state())
    with pytest.raises(TypeError, match="sample_weight"):
        learner.partial_fit(X, targets(name), sample_weight=["heavy"] * 30)


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
    """What is left is a difference of large sums."""
    columns = np.where(np.arange(X.shape[1]) == 1, size, 1)
    learner = learned("ridge", (X[10:], y[10:], None), (X[:10] * columns, y[:10], None))
    with pytest.warns(ob.AccuracyWarning, match=warning) if warning else nullcontext():
        learner.partial_fit(X[:10] * columns, y[:10], sample_weight=-np.ones(10))
        got = weights_of(learner)
    kept = X[10:] * (np.arange(X.shape[1]) != 1) if size == 1e8 else X[10:]
    np.testing.assert_allclose(got, weights_of(learned("ridge", (kept, y[10:], None))), rtol=1e-4 if warning else 1e-10)


@pytest.mark.parametrize("ff", [1.0, 0.5])
def test_a_refused_call_with_weights_of_both_signs_changes_nothing(ff):
    learner = learned("ridge", (X, y, None), forgetting_factor=ff)
    before = learner.to_bytes()
    with pytest.raises(ValueError, match="take more from ridge than it has learned"):
        learner.partial_fit(np.r_[X[:5], 3 * X], np.r_[y[:5], y], sample_weight=np.r_[np.ones(5), -np.ones(30)])
    assert learner.to_bytes() == before


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
        assert merged.live_state.subtrahend is not None


@pytest.mark.parametrize("ff", [1.0, 0.5])
def test_unlearning_a_window_whose_rows_become_smaller(ff):
    """Rounding errors of large sums stay, however slowly the window shrinks, unless they are forgotten.

    Rows that count as never seen cannot be unlearned later.
    """
    learner, rows = ob.create("ridge", dtype="float32", ridge=1e-9, forgetting_factor=ff), np.tile(X, (4, 1))
    rows = (rows * np.geomspace(1e3, 1e-3, len(rows))[:, None]).astype("float32")
    weight = -np.ones(1) * ff**25  # steps forget, those that unlearn too
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


def test_repetitions_of_sgd():
    with pytest.raises(ValueError, match="want at most 1000"):
        learned("sgd", (X, y, np.full(30, 1001)))
    with pytest.raises(ValueError, match="batch_size > 1 wants whole weights"):
        learned("sgd", (X, y, np.full(30, 0.5)), batch_size=4)
    pending = learned("sgd", (X[:3], y[:3], [2, 1, 3]), batch_size=4)
    np.testing.assert_array_equal(
        weights_of(pending),
        weights_of(ob.create("sgd", backend="numpy", batch_size=4).partial_fit(X[[0, 0, 1, 2]], y[[0, 0, 1, 2]])),
    )
    assert pending.pending == 2
    halves = learned("sgd", (X, y, np.full(30, 0.5)), step_size=0.2)
    np.testing.assert_allclose(weights_of(halves), weights_of(learned("sgd", (X, y, None), step_size=0.1)), rtol=1e-12)


def test_the_row_that_diverged():
    huge = X * 1e200
    with pytest.raises(ob.DivergedError, match="row 7 of this call") as caught:
        learned("sgd", (np.vstack([X[:7], huge]), np.append(y[:7], y * 1e200), [2, 0, 1, 0, 0, 3, 1] + [2] * 30))
    assert caught.value.row == 7


def test_weights_of_a_nonlinear_model():
    complete = rng.integers(0, 4, 30)
    learner = ob.create("rls", backend="numpy", model=ob.MLP(hidden=(3,))).partial_fit(X[:1], y[:1])
    twin = learner.copy()
    learner.step(X[:1], y[:1])
    twin.partial_fit(X[:1], y[:1], sample_weight=[1.0])
    np.testing.assert_allclose(weights_of(learner), weights_of(twin), rtol=1e-12)
    linear = ob.MLP(hidden=())
    weighted = ob.create("rls", backend="numpy", model=linear).partial_fit(X, y, sample_weight=complete)
    repeated = ob.create("rls", backend="numpy", model=linear)
    repeated.partial_fit(np.repeat(X, complete, axis=0), np.repeat(y, complete))
    np.testing.assert_allclose(weights_of(weighted), weights_of(repeated), rtol=1e-9)


def test_a_filter_that_moves():
    noise = rng.uniform(1, 2, 30)
    v = np.array([1, 0.5, 2, 0, 4, 1] * 5)
    gaps = np.where(v == 0, np.nan, y)
    settings = {"transition": 0.9, "process_noise": 0.1}
    weighted = ob.create("kalman", backend="numpy", **settings)
    want = weighted.copy().prequential(X, gaps, observation_noise=noise / np.where(v == 0, 1, v))
    np.testing.assert_array_equal(weighted.prequential(X, y, observation_noise=noise, sample_weight=v), want)


def test_weights_too_small_for_the_dtype_count_as_zero():
    learner = ob.create("rls", backend="numpy", dtype="float32").partial_fit(X[:5], y[:5])
    before = weights_of(learner)
    np.testing.assert_array_equal(weights_of(learner.partial_fit(X, y, sample_weight=np.full(30, 1e-300))), before)


@pytest.mark.parametrize("name", ["ridge", "rls"])
def test_weights_of_complex_rows(name):
    Z, t, complete = X + 1j * X[::-1], y + 1j * y[::-1], rng.integers(0, 4, 30)
    weighted = ob.create(name, backend="numpy", dtype="complex128").partial_fit(Z, t, sample_weight=complete)
    repeated = ob.create(name, backend="numpy", dtype="complex128")
    repeated.partial_fit(np.repeat(Z, complete, axis=0), np.repeat(t, complete))
    np.testing.assert_allclose(weighted.predict(Z), repeated.predict(Z), rtol=1e-9)
    if name == "ridge":
        without = repeated.copy().partial_fit(Z, t).partial_fit(Z, t, sample_weight=-np.ones(30))
        np.testing.assert_allclose(without.predict(Z), repeated.predict(Z), rtol=1e-9)
