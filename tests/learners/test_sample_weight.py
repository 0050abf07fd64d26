"""Weights of rows: refusals, and what does not change; their meaning is tested by the laws."""

from typing import Any

import numpy as np
import pytest
from helpers.weights import X, learned, weights_of, y

import orfit_bench as ob

BACKENDS = [name for name in ("numpy", "numba") if ob.backends()[name].available]
rng = np.random.default_rng(1)
WEIGHTED = [name for name, m in ob.methods().items() if m.kernel.weighting]
LABELS = ["a", "b", "c"] * 10


def targets(name):
    return LABELS if name in ("class_rls", "softmax") else y


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


WRONG = {
    "short": (np.ones(29), r"shape \(29,\), want \(30,\)"),
    "a column": (np.ones((30, 1)), r"shape \(30, 1\)"),
    "nan": (np.where(np.arange(30) == 3, np.nan, 1), r"sample_weight\[3\] is nan"),
    "infinite": (np.where(np.arange(30) == 3, np.inf, 1), r"sample_weight\[3\] is inf"),
    "negative": (
        np.where(np.arange(30) == 3, -1.0, 1),
        r"sample_weight\[3\] is -1.0: want a weight >= 0; .* with ridge only",
    ),
}


@pytest.mark.parametrize(
    ("name", "case"), [(name, case) for name in WEIGHTED for case in WRONG if (name, case) != ("ridge", "negative")]
)
def test_wrong_weights_change_nothing(name, case):
    wrong, message = WRONG[case]
    learner = ob.create(name, backend="numpy").partial_fit(X, targets(name))
    before = learner.state()
    with pytest.raises(ValueError, match=message):
        learner.partial_fit(X, targets(name), sample_weight=wrong)
    assert before.identical(learner.state())
    with pytest.raises(TypeError, match="sample_weight"):
        learner.partial_fit(X, targets(name), sample_weight=["heavy"] * 30)


def test_repetitions_of_sgd():
    with pytest.raises(ValueError, match="want at most 1000"):
        learned("sgd", (X, y, np.full(30, 1001)))
    with pytest.raises(ValueError, match="batch_size > 1 requires integer weights"):
        learned("sgd", (X, y, np.full(30, 0.5)), batch_size=4)
    pending = learned("sgd", (X[:3], y[:3], [2, 1, 3]), batch_size=4)
    np.testing.assert_array_equal(
        weights_of(pending),
        weights_of(ob.create("sgd", backend="numpy", batch_size=4).partial_fit(X[[0, 0, 1, 2]], y[[0, 0, 1, 2]])),
    )
    assert pending.pending == 2
    halves = learned("sgd", (X, y, np.full(30, 0.5)), step_size=0.2)
    np.testing.assert_allclose(weights_of(halves), weights_of(learned("sgd", (X, y, None), step_size=0.1)), rtol=1e-12)


def test_repetitions_that_wait_are_saved():
    learner = learned("sgd", (X[:2], y[:2], [3, 2]), batch_size=7)
    restored = [ob.from_bytes(learner.to_bytes()), ob.restore(learner.state())]
    for one in (learner, *restored):
        assert (one.pending, one.n_samples_seen_) == (5, 2)
        np.testing.assert_array_equal(one.partial_fit(X, y).predict(X), learner.predict(X))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_a_part_of_a_step_for_complex_rows(backend, dtype):
    Z, t = X + 1j * X[::-1], y + 1j * y[::-1]
    half = ob.create("sgd", backend=backend, dtype=dtype, step_size=0.2).partial_fit(Z, t, sample_weight=[0.5] * 30)
    full = ob.create("sgd", backend=backend, dtype=dtype, step_size=0.1).partial_fit(Z, t)
    np.testing.assert_allclose(half.predict(Z), full.predict(Z), rtol=1e-4 if dtype == "complex64" else 1e-12)


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


@pytest.mark.parametrize("call", ["partial_fit", "prequential"])
@pytest.mark.parametrize("name", WEIGHTED)
def test_a_chunk_without_rows_has_no_weights(name, call):
    learner = ob.create(name, backend="numpy")
    getattr(learner, call)(X[:0], targets(name)[:0], sample_weight=np.zeros(0))
    assert learner.n_samples_seen_ == 0


@pytest.mark.parametrize(
    ("noise", "error", "message"),
    [
        (2.0, ValueError, r"observation_noise: got shape \(\), want \(30,\)"),
        (np.ones(29), ValueError, r"observation_noise: got shape \(29,\), want \(30,\)"),
        (["1.0"] * 30, TypeError, "observation_noise: got list of dtype <U3, want real numbers"),
        (np.ones(30) + 1j, TypeError, "observation_noise: got ndarray of dtype complex128"),
        (np.ma.masked_array(np.ones(30)), TypeError, "observation_noise: got a masked array"),
        ([2**60 + 1] * 30, ValueError, r"observation_noise\[0\] = 1152921504606846977 would be rounded"),
    ],
)
def test_noise_with_weights_is_checked_as_without_them(noise, error, message):
    for weights in ({}, {"sample_weight": np.ones(30)}):
        with pytest.raises(error, match=message):
            ob.create("kalman", backend="numpy").partial_fit(X, y, observation_noise=noise, **weights)


def test_a_weight_that_makes_noise_zero_is_refused():
    learner = ob.create("kalman", backend="numpy", observation_noise=1e-300)
    with pytest.raises(ValueError, match=r"sample_weight\[1\] is 1e\+30: the variance .* divided by it, is zero"):
        learner.partial_fit([[1.0], [1.0]], [1.0, 2.0], sample_weight=[1.0, 1e30])
    network = ob.create("kalman", backend="numpy", model=ob.MLP((3,)), observation_noise=[1e-300, 1.0])
    with pytest.raises(ValueError, match=r"sample_weight\[0\] is 1e\+30: the variance .* divided by it, is zero"):
        network.partial_fit([[1.0]], [[1.0, 2.0]], sample_weight=[1e30])
    exact = ob.create("kalman", backend="numpy", observation_noise=0.0)
    np.testing.assert_allclose(exact.partial_fit([[1.0]], [3.0], sample_weight=[2.0]).predict([[1.0]]), 3.0)


def test_a_weight_that_makes_noise_infinite_in_float32_is_named():
    learner = ob.create("kalman", backend="numpy", dtype="float32")
    with pytest.raises(ValueError, match=r"sample_weight\[0\] is 1e-45: the variance of the noise.* is infinite"):
        learner.partial_fit(X[:1], y[:1], sample_weight=[1e-45])
    with pytest.raises(ValueError, match=r"observation_noise\[0\] = 1e\+45 overflows float32"):
        learner.partial_fit(X[:1], y[:1], observation_noise=[1e45], sample_weight=[1.0])


def test_weights_too_small_for_the_dtype_count_as_zero():
    learner = ob.create("rls", backend="numpy", dtype="float32").partial_fit(X[:5], y[:5])
    before = weights_of(learner)
    np.testing.assert_array_equal(weights_of(learner.partial_fit(X, y, sample_weight=np.full(30, 1e-300))), before)


@pytest.mark.parametrize("weight", [1e-60, 1e-70, 1e-80, 1e-88, 1e-100])
@pytest.mark.parametrize("name", ["rls", "ridge"])
def test_rows_of_tiny_weights_are_predicted_with_all_digits(name, weight):
    learner = ob.create(name, dtype="float32").partial_fit(X[:20], y[:20])
    expected = learner.predict(X[20:23])
    found = learner.prequential(X[20:23], y[20:23], sample_weight=np.full(3, weight))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_a_weight_that_overflows_the_dtype_is_refused_by_name(dtype):
    learner, message = (
        ob.create("ridge", backend="numpy", dtype=dtype),
        r"sample_weight\[1\] = 1e\+39 overflows float32",
    )
    for call in (learner.partial_fit, learner.prequential):
        with pytest.raises(ValueError, match=message):
            call(X[:2], y[:2], sample_weight=[1.0, 1e39])
    assert learner.n_samples_seen_ == 0


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


def test_complex_weights_are_refused_without_a_remedy_that_does_not_help() -> None:
    learner = ob.create("rls", backend="numpy", dtype="complex128")
    with pytest.raises(TypeError, match=r"sample_weight: got list of dtype complex128, want real numbers$"):
        learner.partial_fit([[1.0]], [1.0], sample_weight=[1j])


@pytest.mark.parametrize("weights", [None, [1.0, 1.0]])
def test_rows_of_a_refused_batch_are_not_counted(weights: list[float] | None) -> None:
    learner = ob.create("sgd", backend="numpy", batch_size=4, step_size=1000.0)
    learner.partial_fit(np.ones((7, 2)), np.full(7, 1e-3))
    with pytest.raises(ob.DivergedError):
        learner.partial_fit(np.full((2, 2), 1e200), np.full(2, -1e200), sample_weight=weights)
    assert (learner.n_samples_seen_, learner.pending) == (4, 0)


def test_copies_of_pending_rows_are_not_counted_as_rows() -> None:
    def begun() -> Any:
        return ob.create("sgd", backend="numpy", batch_size=4, step_size=0.1).partial_fit(np.ones((4, 1)), np.ones(4))

    refused: Any = [[1e200]], [1e200]
    for rows, weights in (([[1.0]], [2.0]), ([[1.0], [2.0]], [1.0, 2.0]), ([[1.0], [1.0]], [2.0, 1.0])):
        learner = begun().partial_fit(rows, np.ones(len(rows)), sample_weight=weights)
        assert learner.n_samples_seen_ == 4 + len(rows)
        with pytest.raises(ob.DivergedError):
            learner.partial_fit(*refused, sample_weight=[3.0])
        assert (learner.n_samples_seen_, learner.pending) == (4, 0)
    learner = begun().partial_fit([[1.0]], [1.0], sample_weight=[2.0]).partial_fit([[1.0]], [1.0])
    with pytest.raises(ob.DivergedError):
        learner.partial_fit(*refused)
    assert learner.n_samples_seen_ == 4
    learner = begun().partial_fit(*refused, sample_weight=[3.0])
    with pytest.raises(ob.DivergedError):
        learner.flush()
    assert learner.n_samples_seen_ == 4
