"""Networks on Numba: the rules for networks give the same results as the general rules for models."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.models.activations import ACTIVATIONS

POWER = {"power": {"eta0": 0.3, "power": 0.8}}
SETTINGS = [
    ("lms", {"step_size": POWER}),
    ("sgd", {"step_size": 0.05}),
    ("sgd", {"step_size": 0.05, "momentum": 0.5, "ridge": 0.1, "averaging": "uniform", "loss": "huber", "delta": 0.3}),
    ("sgd", {"step_size": 0.05, "momentum": POWER}),
    ("sgd", {"step_size": 0.1, "loss": "absolute", "radius": 0.5, "averaging": "tail", "tail_start": 4}),
    ("sgd", {"step_size": POWER, "loss": "quantile", "tau": 0.3, "averaging": "weighted", "weights": POWER}),
    ("sgd", {"step_size": 0.1, "loss": "epsilon_insensitive", "momentum": 0.5}),
    ("softmax", {"step_size": 0.1, "ridge": 0.1}),
    ("gp", {"step_size": 0.1}),
    ("gp", {"step_size": 0.1, "rank": 2}),
    ("owm", {}),
    ("owm", {"forgetting_factor": 0.9}),
    ("nlms", {"step_size": POWER}),
    ("one_step_sgd", {}),
    ("rls", {"forgetting_factor": 0.9}),
    ("rls", {"form": "square_root"}),
    ("ogd", {"step_size": 0.1, "memory": 6}),
    ("icl", {"memory": 6}),
    ("orfit", {"memory": 4}),
    ("orfit", {"memory": 4, "summary": "largest"}),
    ("apa", {"projection_order": 3, "eps": 0.1}),
]
"""Settings of the methods that have a rule for networks."""
N, D = 40, 5


def functions_of(network):
    """A model with the same functions, for which the kernel has no special rule."""
    return replace(network, name="functions of a network")


def draw(method, settings, outputs=1):
    rng = np.random.default_rng(5)
    X = 0.3 * rng.standard_normal((N, D))  # steps that fit larger rows exactly grow without bound
    Y = 0.5 * np.tanh(X @ rng.standard_normal((D, outputs)))
    if method == "softmax":
        return X, np.array(list("bca"))[Y.sum(axis=1).round().astype(int)]
    return X, Y[:, 0] if outputs == 1 else Y


def assert_alike(learner, expected, rtol):
    for a, b in zip(learner.live_state.arrays, expected.live_state.arrays, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


@pytest.mark.parametrize(("method", "settings"), SETTINGS)
@pytest.mark.parametrize(("dtype", "rtol"), [("float64", 1e-9), ("float32", 1e-3)])
@pytest.mark.parametrize("outputs", [1, 3])
def test_networks_are_learned_as_models(method, settings, dtype, rtol, outputs):
    if dtype == "float32" and method in ("one_step_sgd", "orfit"):
        pytest.skip("rows that are fitted exactly multiply rounding errors")
    X, y = draw(method, settings, outputs)
    for (hidden, bias), activation in zip(product([(), (7,), (4, 3)], [True, False]), ACTIVATIONS, strict=False):
        network = ob.MLP(hidden, activation, bias)
        own, general = (
            ob.create(method, backend="numba", dtype=dtype, model=model, **settings)
            for model in (network, functions_of(network))
        )
        found, expected = (learner.prequential(X[:25], y[:25]) for learner in (own, general))
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)
        for x, target in zip(X[25:].astype(dtype), y[25:], strict=True):
            own.learn_one(x, target)
            general.learn_one(x, target)
        assert_alike(own, general, rtol)


@pytest.mark.parametrize("method", ["sgd", "softmax", "gp", "rls"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("outputs", [1, 3])
def test_predictions_of_few_and_many_rows_agree(method, dtype, outputs):
    X, y = draw(method, {}, outputs)
    learner = ob.create(method, backend="numba", dtype=dtype, model=ob.MLP((6, 4), "gelu")).partial_fit(X, y)
    if method == "softmax":
        assert learner.predict(X).tolist() == [learner.predict_one(x) for x in X.astype(dtype)]
        return
    many = learner.predict(X)
    few = np.concatenate([learner.predict(X[i : i + 5]) for i in range(0, N, 5)])
    one = np.stack([learner.predict_one(x) for x in X.astype(dtype)])
    assert one.shape == few.shape == many.shape
    rtol = 100 * np.finfo(dtype).eps
    np.testing.assert_allclose(few, many, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(one, few, rtol=rtol, atol=rtol)
    with pytest.raises(ValueError, match="row 0, column 2"):
        learner.predict_one(np.where(np.arange(D) == 2, np.inf, X[0]).astype(dtype))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation(activation):
    X, y = draw("sgd", {})
    network = ob.MLP((6, 4), activation)
    own, general = (
        ob.create("sgd", backend="numba", model=model, step_size=1e-5).partial_fit(100 * X, y)
        for model in (network, functions_of(network))
    )
    assert_alike(own, general, 1e-7)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_losses_of_signs(loss):
    X, y = draw("sgd", {})
    y = np.where(y < 0, -1.0, 1.0)
    own, general = (
        ob.create("sgd", backend="numba", model=model, loss=loss, step_size=0.1).partial_fit(X, y)
        for model in (ob.MLP((6,)), functions_of(ob.MLP((6,))))
    )
    assert_alike(own, general, 1e-9)
    before = own.to_bytes()
    with pytest.raises(ValueError, match="sgd expects every y to be -1 or 1"):
        own.learn_one(X[0], 0.5)
    assert own.to_bytes() == before


def test_cross_entropy_of_several_outputs():
    X, _ = draw("sgd", {})
    Y = np.eye(3)[np.arange(N) % 3]
    own, general = (
        ob.create("sgd", backend="numba", model=model, loss="cross_entropy", step_size=0.1).partial_fit(X, Y)
        for model in (ob.MLP((6,)), functions_of(ob.MLP((6,))))
    )
    assert_alike(own, general, 1e-9)


@pytest.mark.parametrize(("method", "settings"), SETTINGS)
def test_single_rows_have_the_bits_of_chunks(method, settings):
    X, y = draw(method, settings)
    one, chunk = (ob.create(method, backend="numba", model=ob.MLP((6,)), **settings) for _ in range(2))
    for x, target in zip(X, y, strict=True):
        one.learn_one(x, target)
    chunk.partial_fit(X, y)
    assert_alike(one, chunk, 1e-12)
    assert one.n_samples_seen_ == chunk.n_samples_seen_ == N


@pytest.mark.parametrize(("method", "settings"), SETTINGS)
@pytest.mark.parametrize("activation", ["tanh", "relu", "leaky_relu"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite_are_refused(method, settings, activation, value):
    X, y = draw(method, settings)
    learner = ob.create(method, backend="numba", model=ob.MLP((6,), activation), **settings).partial_fit(X, y)
    before = learner.to_bytes()
    wrong = X[0].copy()
    wrong[1] = value
    with pytest.raises(ValueError, match="column 1"):
        learner.learn_one(wrong, y[0])
    if method != "softmax":
        with pytest.raises(ValueError, match="y"):
            learner.learn_one(X[0], value)
    assert learner.to_bytes() == before


@pytest.mark.parametrize(("method", "settings"), [one for one in SETTINGS if one[0] in ("lms", "sgd", "gp", "owm")])
def test_a_refused_row_leaves_the_state_before_it(method, settings):
    X, y = draw(method, settings)
    settings = settings | {"loss": "square", "averaging": "none", "radius": None} if method == "sgd" else settings
    learner, before = (ob.create(method, backend="numba", model=ob.MLP((6,)), **settings) for _ in range(2))
    y = y.copy()
    y[30] = np.finfo(float).max
    with pytest.raises(ob.DivergedError) as error:
        learner.partial_fit(X, np.where(np.arange(N) > 30, -y[30], y))
    rows = error.value.row
    assert rows in (30, 31)  # weights near the largest number are finite
    before.partial_fit(X[:rows], y[:rows])
    assert_alike(learner, before, 1e-12)
    with pytest.raises(ob.DivergedError):
        learner.learn_one(X[rows], -y[30]).learn_one(X[rows], y[30])


@pytest.mark.parametrize("method", ["sgd", "softmax"])
def test_weights_of_rows_steps_and_batches_are_learned_by_gradients(method):
    X, y = draw(method, {})
    learners = []
    for model in (ob.MLP((6,)), functions_of(ob.MLP((6,)))):
        learner = ob.create(method, backend="numba", model=model, step_size=0.1)
        learner.partial_fit(X[:10], y[:10]).partial_fit(X[10:20], y[10:20], sample_weight=np.arange(10) % 3)
        learner.step(X[20:25], y[20:25])
        learner.learn_one(X[25], y[25], sample_weight=2.0).learn_one(X[26], y[26])
        learners.append(learner.partial_fit(X[27:], y[27:]))
    assert_alike(*learners, 1e-12)
    if method == "sgd":
        batches = [
            ob.create("sgd", backend="numba", model=model, step_size=0.1, batch_size=4).partial_fit(X, y)
            for model in (ob.MLP((6,)), functions_of(ob.MLP((6,))))
        ]
        assert_alike(*batches, 0)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_singular_values_that_overflow_are_not_stored(backend):
    learner = ob.create("gp", backend=backend, model=ob.MLP((), bias=False), rank=1, initial_weights=np.zeros(1))
    for _ in range(8):
        learner.learn_one(np.array([1.5e308]), 0.0)
    assert learner.n_samples_seen_ == 8
    assert np.isfinite(learner.state()["singular_values_1"].values).all()


@pytest.mark.parametrize("method", ["nlms", "gp", "sgd"])
def test_an_interrupted_chunk_leaves_the_state_before_it(method, monkeypatch):
    X, y = draw(method, {})
    learner = ob.create(method, backend="numba", model=ob.MLP((6,))).partial_fit(X[:10], y[:10])
    before, rows = learner.to_bytes(), learner.rule.network_kernel(learner.live_state.sizes)
    learn = rows.learn

    def interrupted(*arguments):
        learn(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(rows, "learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learner.partial_fit(X[10:], y[10:])
    assert learner.to_bytes() == before
    monkeypatch.undo()
    learner.partial_fit(X[10:], y[10:])


def test_an_mlp_with_another_function_is_a_model_of_the_user():
    X, y = draw("sgd", {})
    network = ob.MLP((6,))
    halved = replace(network, name="halved", predict=lambda w, X: network.predict(w, X) / 2)
    learner = ob.create("sgd", backend="numba", model=halved, step_size=0.1).partial_fit(X, y)
    same = ob.create("sgd", backend="numba", model=network, step_size=0.1).partial_fit(X, y)
    assert np.abs(learner.array("w") - same.array("w")).max() > 1e-3


def test_classes_may_come_late():
    X, y = draw("softmax", {})
    y = np.where(np.arange(N) < 20, "b", y)
    own, general = (
        ob.create("softmax", backend="numba", model=model, step_size=0.1)
        for model in (ob.MLP((6,)), functions_of(ob.MLP((6,))))
    )
    for learner in (own, general):
        for x, label in zip(X[:30], y[:30], strict=True):
            learner.learn_one(x, label)
        learner.partial_fit(X[30:], y[30:])
    assert own.classes_.tolist() == general.classes_.tolist()
    assert_alike(own, general, 1e-12)


def test_copies_and_saved_networks_go_on():
    X, y = draw("gp", {})
    for method in ("sgd", "gp", "owm"):
        learner = ob.create(method, backend="numba", model=ob.MLP((6,))).partial_fit(X[:10], y[:10])
        learner.learn_one(X[10], y[10])
        others = learner.copy(), ob.from_bytes(learner.to_bytes())
        for one in (learner, *others):
            one.learn_one(X[11], y[11]).partial_fit(X[12:], y[12:])
        for other in others:
            assert other.to_bytes() == learner.to_bytes()
