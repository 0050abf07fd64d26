"""The MLP: its functions compared with formulas and finite differences, its start, its arguments."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import orfit_bench as ob
from orfit_bench.models import model_named
from orfit_bench.models.activations import ACTIVATIONS

WIDE = np.longdouble
"""A dtype with more digits than float64, if the machine has one, so that differences show small mistakes."""


@st.composite
def networks(draw: st.DrawFn) -> tuple[ob.Model, Any, Any, int]:
    """A network, weights and a row in WIDE, and the number of outputs."""
    hidden = tuple(draw(st.lists(st.integers(1, 6), max_size=3)))
    model = ob.MLP(hidden, draw(st.sampled_from(list(ACTIVATIONS))), draw(st.booleans()))
    d, c = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    w, x = rng.standard_normal(model.size(d, c)) / 2, rng.standard_normal(d)
    return model, w.astype(WIDE), x.astype(WIDE), c


def written_out(model: ob.Model, w: Any, x: Any, c: int, activation: Callable[[Any], Any], bias: bool) -> list[Any]:
    """The inputs of each layer, and the outputs: one matrix after the other, in C order, with a last 1 for the bias."""
    found, at, a = [], 0, x
    shapes = model.shapes(len(x), c)
    for k, (n, m) in enumerate(shapes):
        a = np.append(a, WIDE(1)) if bias else a
        found.append(a)
        a = a @ w[at : at + n * m].reshape(n, m)
        at += n * m
        a = a if k == len(shapes) - 1 else activation(a)
    return [*found, a]


FORMULAS: dict[str, Callable[[Any], Any]] = {
    "tanh": lambda z: (np.exp(z) - np.exp(-z)) / (np.exp(z) + np.exp(-z)),
    "relu": lambda z: z * (z > 0),
    "leaky_relu": lambda z: np.maximum(z, 0.01 * z),
    "elu": lambda z: np.where(z > 0, z, np.exp(z) - 1),
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
    "softplus": lambda z: np.log(1 + np.exp(z)),
    "silu": lambda z: z / (1 + np.exp(-z)),
    "gelu": lambda z: z / (1 + np.exp(-2 * np.sqrt(2 / np.pi) * (z + 0.044715 * z**3))),
}
"""Textbook forms, which overflow far from 0."""


@given(case=networks())
def test_outputs_and_layers_are_those_of_the_formulas(case: Any) -> None:
    model, w, x, c = case
    net = model.predict.__self__
    want = written_out(model, w, x, c, FORMULAS.get(net.activation, lambda z: z), net.bias)
    got = [*model.layers(w, x), model.predict(w, x[None])[0]]
    assert len(got) == len(want) == len(net.hidden) + 2
    for a, b in zip(got, want, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a.astype(float), b.astype(float), rtol=1e-12, atol=1e-13)


@given(case=networks())
def test_the_jacobian_is_that_of_finite_differences(case: Any) -> None:
    model, w, x, c = case
    J, h = model.jacobian(w, x), np.finfo(WIDE).eps ** (1 / 3)
    assert J.shape == (c, len(w))
    assert J.dtype == WIDE
    ends = [model.predict(w + h * e, x[None])[0] - model.predict(w - h * e, x[None])[0] for e in np.eye(len(w))]
    scale = max(1, abs(J).max())
    assert abs(J - np.stack(ends, axis=1) / (2 * h)).max() < 1e3 * h**2 * scale**2


@given(case=networks())
def test_many_rows_are_predicted_as_each_of_them(case: Any) -> None:
    model, w, x, _ = case
    X = np.stack([x, 0 * x, -x])
    np.testing.assert_allclose(model.predict(w, X), np.concatenate([model.predict(w, row[None]) for row in X]))


@given(case=networks(), dtype=st.sampled_from(["float64", "float32"]))
def test_the_dtype_is_kept(case: Any, dtype: str) -> None:
    model, w, x, _ = case
    w, x = w.astype(dtype), x.astype(dtype)
    assert {a.dtype for a in (model.predict(w, x[None]), model.jacobian(w, x), *model.layers(w, x))} == {
        np.dtype(dtype)
    }


class Elsewhere(np.ndarray):
    """An array whose namespace has only what the array API standard defines."""

    def __array_namespace__(self, **_: Any) -> Any:
        standard = "abs clip concat empty exp expm1 eye log1p maximum minimum ones ones_like reshape tanh where zeros"
        return SimpleNamespace(**{name: getattr(np, name) for name in standard.split()})


@given(case=networks())
@settings(max_examples=40)
def test_only_the_namespace_of_the_arguments_is_used(case: Any) -> None:
    model, w, x, _ = case
    foreign = w.view(Elsewhere), x.view(Elsewhere)
    np.testing.assert_array_equal(model.jacobian(*foreign), model.jacobian(w, x))
    np.testing.assert_array_equal(model.predict(foreign[0], foreign[1][None]), model.predict(w, x[None]))
    for a, b in zip(model.layers(*foreign), model.layers(w, x), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_far_from_zero(name: str, dtype: str) -> None:
    """Nothing overflows, and each activation equals its asymptote."""
    value, slope = ACTIVATIONS[name]
    far = np.array([100, 1e6, 1e18, np.finfo(dtype).max / 4], dtype)
    z = np.concatenate([-far, far])
    with np.errstate(all="raise", under="ignore"):
        f, g = value(np, z), slope(np, z)
    low = {"tanh": -1, "elu": -1, "leaky_relu": -0.01 * far}.get(name, 0)
    high = {"tanh": 1, "sigmoid": 1}.get(name, far)
    for got, want in ((f[:4], low), (f[4:], high)):
        np.testing.assert_allclose(got, np.broadcast_to(want, 4), rtol=1e-6, atol=1e-30)
    bounded = name in ("tanh", "sigmoid")
    np.testing.assert_allclose(g[:4], 0.01 if name == "leaky_relu" else 0, atol=1e-30, rtol=1e-6)
    np.testing.assert_allclose(g[4:], 0 if bounded else 1, atol=1e-30)


def test_slopes_at_the_kink() -> None:
    slopes = {name: float(ACTIVATIONS[name].slope(np, np.zeros(1))[0]) for name in ACTIVATIONS}
    half = dict.fromkeys(("softplus", "silu", "gelu"), 0.5)
    assert slopes == half | {"tanh": 1, "relu": 0, "leaky_relu": 0.01, "elu": 1, "sigmoid": 0.25}


def test_the_layout_of_the_parameters() -> None:
    """Two features, two tanh units, one output: Theta_1 (3, 2) with its bias last, then Theta_2 (3, 1)."""
    model, w = ob.MLP((2,)), np.arange(1.0, 10)
    assert model.shapes(2, 1) == ((3, 2), (3, 1))
    a = np.tanh([1 * 0.1 + 3 * 0.2 + 5, 2 * 0.1 + 4 * 0.2 + 6])
    np.testing.assert_allclose(model.predict(w, np.array([[0.1, 0.2]])), [[7 * a[0] + 8 * a[1] + 9]])
    assert ob.MLP((2,), bias=False).shapes(2, 1) == ((2, 2), (2, 1))


@pytest.mark.parametrize("bias", [True, False])
def test_initial_weights_are_scaled_by_the_inputs(bias: bool) -> None:
    model = ob.MLP((300, 200), bias=bias)
    nothing = np.zeros((0, 100)), np.zeros((0, 2))
    learners = [ob.create("lms", model=model, random_state=seed).partial_fit(*nothing) for seed in (0, 0, 1)]
    first, again, other = (learner.array("w")[:, 0] for learner in learners)
    np.testing.assert_array_equal(first, again)
    assert not np.isclose(first, other).all()
    at = 0
    for n, m in ((100, 300), (300, 200), (200, 2)):
        Theta = first[at : at + n * m]
        assert abs(np.std(Theta) * np.sqrt(n) - 1) < 4 / np.sqrt(2 * n * m)
        assert len(set(Theta)) == n * m
        at += n * m + m * bias
        if bias:
            np.testing.assert_array_equal(first[at - m : at], 0)
    assert at == len(first)


def test_names_and_identity() -> None:
    assert ob.MLP().name == "mlp(32; tanh)"
    assert ob.MLP((32, 8), "relu").name == "mlp(32, 8; relu)"
    assert ob.MLP((4,), bias=False).name == "mlp(4; tanh; no bias)"
    assert ob.MLP(()).name == "mlp()"
    assert ob.MLP(()) is ob.MLP((), "relu")
    assert ob.MLP([np.int64(32)]) is ob.MLP()
    assert ob.MLP((3,)) != ob.MLP((3,), "relu")
    assert isinstance(ob.MLP(), ob.Model)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"hidden": (8, True)}, TypeError, r"hidden=\(8, True\), want the widths of the hidden layers, integers"),
        ({"hidden": 32}, TypeError, r"hidden=32, want the widths of the hidden layers, integers such as \(32, 32\)"),
        ({"hidden": (3, 2.0)}, TypeError, "hidden="),
        ({"hidden": "32"}, TypeError, "hidden='32'"),
        ({"hidden": (3, 0)}, ValueError, r"hidden=\(3, 0\), want widths of at least 1; \(\) is a linear model"),
        ({"activation": "rellu"}, ValueError, "no activation 'rellu'. Did you mean 'relu'"),
        ({"activation": None}, TypeError, "activation=None, want one of tanh, relu"),
        ({"activation": "rellu", "hidden": ()}, ValueError, "rellu"),
        ({"bias": 1}, TypeError, "bias=1, want True or False"),
    ],
)
def test_wrong_arguments(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ob.MLP(**arguments)


def test_weights_that_fit_no_output() -> None:
    for p in (12, 13):  # 4 x 2 for the hidden layer, then 3 an output
        with pytest.raises(ValueError, match=rf"mlp\(2; tanh\): {p} parameters fit no number of outputs on 3 features"):
            ob.MLP((2,)).predict(np.ones(p), np.ones((1, 3)))
    with pytest.raises(ValueError, match="8 parameters fit no number"):
        ob.MLP((2,)).jacobian(np.ones(8), np.ones(3))


@given(networks())
@settings(deadline=None, max_examples=50)
def test_a_network_is_known_by_its_name_and_survives_copies(drawn: tuple[ob.Model, Any, Any, int]) -> None:
    model = drawn[0]
    assert model_named(model.name) is model
    assert pickle.loads(pickle.dumps(model)) is copy.deepcopy(model) is model
    other = copy.copy(replace(model, name="own", layers=None))
    assert (other.name, other.layers, other.predict) == ("own", None, model.predict)


@pytest.mark.parametrize(
    "name",
    [
        "linear",
        "mlp",
        "mlp(",
        "mlp(; tanh)",
        "mlp(0; tanh)",
        "mlp(3)",
        "mlp(3; sine)",
        "mlp(3,4; tanh)",
        "mlp(03; tanh)",
        3,
        "mlp(3; tanh; bias)",
        "mlp(3; no bias)",
        "mlp(3; tanh) ",
        "mlp(x; tanh)",
        "mlp(3; tanh; 4; no bias)",
    ],
)
def test_other_names_belong_to_no_network(name: object) -> None:
    assert model_named(name) is None


@pytest.mark.parametrize(
    "network", [ob.MLP((5,)), ob.MLP((4, 3), "silu", bias=False), ob.MLP(())], ids=lambda m: m.name
)
def test_jacobians_are_those_of_the_rows(network: ob.Model) -> None:
    rng = np.random.default_rng(0)
    w, X = rng.standard_normal(network.size(3, 2)), rng.standard_normal((7, 3))
    assert network.jacobians
    np.testing.assert_allclose(network.jacobians(w, X), [network.jacobian(w, x) for x in X], rtol=1e-12, atol=1e-12)
    assert network.jacobians(w.astype("f"), X.astype("f")).dtype == "float32"


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("wrong", [False, True])
def test_steps_of_several_rows_take_the_jacobians_of_all(wrong: bool, backend: str) -> None:
    rng, network, shapes = np.random.default_rng(1), ob.MLP((4,)), []
    X, Y = rng.standard_normal((12, 3)), rng.standard_normal((12, 2))

    def jacobians(w: Any, X: Any) -> Any:
        shapes.append(X.shape)
        assert network.jacobians
        return network.jacobians(w, X) * (1.01 if wrong else 1)

    mine = replace(network, name="mine", jacobians=jacobians)
    plain = replace(network, name="plain", jacobians=None)
    found, want = (ob.create("orfit", model=m, batch_size=3, backend=backend, random_state=1) for m in (mine, plain))
    if wrong:
        with pytest.raises(ValueError, match=r"model 'mine': jacobians\(w, X\) and jacobian\(w, x\) do not agree"):
            found.partial_fit(X, Y)
        return
    found.partial_fit(X, Y)
    np.testing.assert_allclose(found.array("w"), want.partial_fit(X, Y).array("w"), rtol=1e-9, atol=1e-10)
    assert shapes == [(3, 3)] * 4
