"""Models: the MLP's functions against formulas and finite differences, and every method that learns models on them."""

from __future__ import annotations

import doctest
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.cases import SEQUENCE
from hypothesis import given, settings
from hypothesis import strategies as st

import orfit_bench as ob
from orfit_bench.models.activations import ACTIVATIONS
from orfit_bench.spec import NumberOrSchedule

Same = Callable[[ob.Learner, ob.Learner], None]
METHODS = [name for name, method in ob.methods().items() if method.kernel.models]
NETWORKS = {
    "linear with bias": (ob.MLP(()), None),
    "one hidden layer": (ob.MLP((5,)), None),
    "three outputs": (ob.MLP((4, 3), "relu"), 3),
    "deep, no bias": (ob.MLP((3, 4, 2), "silu", bias=False), 1),
}
WIDE = np.longdouble
"""More digits than a float64 has, where the machine knows such numbers: differences then show small mistakes."""


@st.composite
def networks(draw: st.DrawFn) -> tuple[ob.Model, Any, Any, int]:
    """A network, weights and a row in WIDE, the number of outputs."""
    hidden = tuple(draw(st.lists(st.integers(1, 6), max_size=3)))
    model = ob.MLP(hidden, draw(st.sampled_from(list(ACTIVATIONS))), draw(st.booleans()))
    d, c = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    w, x = rng.standard_normal(model.size(d, c)) / 2, rng.standard_normal(d)
    return model, w.astype(WIDE), x.astype(WIDE), c


def written_out(model: ob.Model, w: Any, x: Any, c: int, activation: Callable[[Any], Any], bias: bool) -> list[Any]:
    """What each layer takes in, and the outputs: one matrix after the other, in C order, a 1 put last for the bias."""
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


# ---------------------------------------------------------------------- the MLP's functions


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
    """An array whose namespace has what the array API standard names, and nothing else of NumPy."""

    def __array_namespace__(self, **_: Any) -> Any:
        standard = "abs clip concat exp expm1 eye log1p maximum minimum ones ones_like reshape tanh where zeros"
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
    """Nothing overflows, and what is left of each is its asymptote."""
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
def test_the_start(bias: bool) -> None:
    model = ob.MLP((300, 200), bias=bias)
    nothing = np.zeros((0, 100)), np.zeros((0, 2))
    learners = [ob.create("lms", model=model, random_state=seed).partial_fit(*nothing) for seed in (0, 0, 1)]
    first, again, other = (learner.state()["w"].values[:, 0] for learner in learners)
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


def test_the_linear_model_by_name(same_state: Same, rows: Any) -> None:
    same_state(ob.create("rls", model="linear").partial_fit(*rows(4)), ob.create("rls").partial_fit(*rows(4)))
    with pytest.raises(TypeError, match=r"model: got str, want orfit_bench.MLP\(...\)"):
        ob.create("rls", model="mlp")


# ---------------------------------------------------------------------- every method on networks


def given_rows(outputs: int | None, n: int = 7) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((n, 3)) / 2, rng.standard_normal(n if outputs is None else (n, outputs)) / 4
    X[4:5] = X[1]
    return X, y


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("method", METHODS)
def test_cuts_do_not_matter_on_a_network(method: str, network: str, dtype: str, same_state: Same) -> None:
    """Bit for bit, and the learner stays finite and in its dtype."""
    model, outputs = NETWORKS[network]
    X, y = given_rows(outputs)
    scheduled = [s.name for s in ob.methods()[method].settings if isinstance(s.type, NumberOrSchedule)]
    for more in ({}, *({name: SEQUENCE} for name in scheduled)):
        whole, cut = (ob.create(method, model=model, dtype=dtype, **more) for _ in range(2))
        told = whole.prequential(X, y)
        parts = [cut.prequential(X[a:b], y[a:b]) for a, b in ((0, 1), (1, 1), (1, 4), (4, 7))]
        same_state(cut, whole)
        np.testing.assert_array_equal(np.concatenate(parts), told)
        assert told.shape == y.shape
        assert {a.dtype for a in (told, whole.predict(X), whole.state()["pending_X"])} == {np.dtype(dtype)}
        assert np.isfinite(whole.predict(X)).all()


@pytest.mark.parametrize("method", METHODS)
def test_a_network_learns(method: str) -> None:
    """The rows just seen are predicted better than before; all methods move."""
    X, y = given_rows(None, n=3)
    learner = ob.create(method, model=ob.MLP((8,)), random_state=1).partial_fit(X[:0], y[:0])
    before = learner.predict(X[:1])
    learner.partial_fit(X[:1], y[:1])
    assert abs(learner.predict(X[:1]) - y[:1]) < abs(before - y[:1])


@pytest.mark.parametrize("way", ["copy", "restore", "load"])
@pytest.mark.parametrize("method", METHODS)
def test_a_state_knows_its_network(method: str, way: str, same_state: Same, tmp_path: Path) -> None:
    X, y = given_rows(3)
    learner = ob.create(method, model=ob.MLP((4,), "elu")).partial_fit(X[:4], y[:4])
    learner.save(tmp_path / "s.npz")
    again = {
        "copy": lambda **_: learner.copy(),
        "restore": lambda **m: ob.restore(learner.state(), **m),
        "load": lambda **m: ob.load(tmp_path / "s.npz", **m),
    }[way]
    if way != "copy":
        for wrong in ({}, {"model": ob.MLP((4,))}, {"model": ob.MLP((4,), "elu", bias=False)}):
            with pytest.raises(ValueError, match=r"belongs to the model 'mlp\(4; elu\)', got .*: pass model="):
                again(**wrong)
    other = again(model=ob.MLP((4,), "elu"))
    same_state(other.partial_fit(X[4:], y[4:]), learner.partial_fit(X[4:], y[4:]))


@pytest.mark.parametrize("method", [name for name in METHODS if "w" in ob.methods()[name].combine.averages])
def test_learners_of_equal_networks_are_averaged(method: str) -> None:
    """Each was given a network of its own; they are the same model."""
    X, y = given_rows(None)
    learners = [ob.create(method, model=ob.MLP((4,), "gelu"), random_state=i).partial_fit(X, y) for i in range(2)]
    mean = np.mean([learner.state()["w"].values for learner in learners], axis=0)
    ob.average(learners)
    np.testing.assert_allclose(learners[0].state()["w"].values, mean)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize(("method", "more"), [("orfit", {}), ("rls", {"forgetting_factor": 0.0}), ("icl", {})])
def test_orfit_on_a_network_is_interpolating_rls_step_by_step(method: str, more: Any, network: str) -> None:
    """Thesis, Theorem 9: w_i is the point nearest to w_0 that fits all rows as linearised when they came."""
    model, outputs = NETWORKS[network]
    rng = np.random.default_rng(7)
    X, Y = rng.standard_normal((4, 6)) / 2, rng.standard_normal((4, outputs or 1)) / 4
    learner = ob.create(method, model=model, **more).partial_fit(X[:0], Y[:0])
    w0 = w = learner.state()["w"].values[:, 0]
    A, b = np.zeros((0, len(w))), np.zeros(0)
    for x, y in zip(X, Y, strict=True):
        J = model.jacobian(w, x)
        A, b = np.vstack([A, J]), np.append(b, y - model.predict(w, x[None])[0] + J @ w)
        if np.linalg.cond(A) > 1e5:  # independent gradients only: a relu may be dead
            break
        w = learner.partial_fit(x[None], y[None]).state()["w"].values[:, 0]
        np.testing.assert_allclose(w, w0 + np.linalg.pinv(A) @ (b - A @ w0), atol=1e-9 * abs(w).max())
    assert len(A) > 1


# ---------------------------------------------------------------------- a model of one's own


def hand_made() -> ob.Model:
    """f(x; w) = sum_k v_k exp(-(u_k'x)^2), three bumps, w = (u, v), with its Jacobian by hand."""

    def parts(w: Any, d: int) -> tuple[Any, Any]:
        return w[: 3 * d].reshape(3, d), w[3 * d :]

    def predict(w: Any, X: Any) -> Any:
        u, v = parts(w, X.shape[1])
        return np.exp(-((X @ u.T) ** 2)) @ v[:, None]

    def jacobian(w: Any, x: Any) -> Any:
        u, v = parts(w, len(x))
        z = u @ x
        e = np.exp(-(z**2))
        return np.concatenate([np.outer(-2 * v * z * e, x).ravel(), e])[None]

    return ob.Model("bumps", predict, jacobian, lambda d, c: 3 * d + 3, lambda draw, d, c: draw(3 * d + 3))


def differentiated() -> ob.Model:
    """The same, told to an automatic differentiation as one formula."""
    import autograd.numpy as anp
    from autograd import jacobian

    def predict(w: Any, X: Any) -> Any:
        u, v = w[: 3 * X.shape[1]].reshape(3, X.shape[1]), w[3 * X.shape[1] :]
        return anp.dot(anp.exp(-(anp.dot(X, u.T) ** 2)), anp.reshape(v, (3, 1)))

    slope = jacobian(lambda w, x: predict(w, x[None])[0])
    return ob.Model("bumps", predict, slope, lambda d, c: 3 * d + 3, lambda draw, d, c: draw(3 * d + 3))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("method", METHODS)
def test_a_model_by_automatic_differentiation(method: str, dtype: str) -> None:
    """Its two functions come from a library that the host has never heard of; rounding is all that differs."""
    X, y = given_rows(None)
    models = hand_made(), differentiated()
    by_hand, by_autograd = (ob.create(method, model=m, dtype=dtype).partial_fit(X, y) for m in models)
    near = {"rtol": 1e-9, "atol": 1e-9} if dtype == "float64" else {"rtol": 2e-2, "atol": 2e-2}
    np.testing.assert_allclose(by_autograd.predict(X), by_hand.predict(X), **near)
    field = ob.methods()[method].state.weights
    np.testing.assert_allclose(by_autograd.state()[field], by_hand.state()[field], **near)


def test_the_page_on_models_runs() -> None:
    page = Path(__file__).resolve().parents[2] / "docs/models.md"
    failed, tried = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert tried > 10
    assert failed == 0


# ---------------------------------------------------------------------- what users' functions may do


@pytest.mark.parametrize("case", [("orfit", {"batch_size": 5}), ("sgd", {"batch_size": 5}), ("sgd", {"momentum": 0.5})])
def test_functions_that_fill_the_same_array_again_change_nothing(case):
    """As compiled and automatic derivatives do."""
    method, settings = case
    rng = np.random.default_rng(0)
    X, Y, plain = rng.standard_normal((10, 3)), rng.standard_normal((10, 2)), ob.MLP((4,))
    kept = {}

    def again(name, function):
        def filled(w, x):
            value = function(w, x)
            kept.setdefault((name, value.shape), np.empty_like(value))[...] = value
            return kept[name, value.shape]

        return filled

    reusing = ob.Model("reusing", again("f", plain.predict), again("J", plain.jacobian), plain.parameters, plain.start)
    told = [ob.create(method, model=model, **settings).prequential(X, Y) for model in (plain, reusing)]
    np.testing.assert_array_equal(*told)
    states = [ob.create(method, model=model, **settings).partial_fit(X, Y).state()["w"] for model in (plain, reusing)]
    np.testing.assert_array_equal(*states)


@pytest.mark.parametrize(
    ("shapes", "said"), [(None, "None"), (((4, 3), (4, 2, 1)), "4, 2, 1"), (((4.0, 3), (4, 2)), "4.0")], ids=str
)
def test_shapes_that_are_none_are_named(shapes, said):
    net = ob.MLP((3,))
    model = ob.Model("odd", net.predict, net.jacobian, net.parameters, net.start, lambda d, c: shapes, net.layers)
    with pytest.raises(ValueError, match=f"'odd': shapes.*{said}.*want a pair of integers"):
        ob.create("gp", model=model).partial_fit(np.ones((2, 3)), np.ones((2, 2)))
    floating = ob.Model("odd", net.predict, net.jacobian, 20.0)
    with pytest.raises(ValueError, match=r"parameters gives 20\.0, want an integer"):
        ob.create("lms", model=floating, initial_weights=np.zeros(20)).partial_fit(np.ones((2, 3)), np.ones((2, 2)))


@pytest.mark.parametrize("wrong", ["zero inputs", "wrong inputs that a dead first row hides"])
def test_layers_that_disagree_are_found_as_soon_as_a_row_shows_it(wrong):
    net = ob.MLP((3,), "relu")
    X, y = np.array([[-1.0, -2.0], [1.0, 2.0]]), np.ones(2)  # at weights of one the first row reaches no unit
    if wrong == "zero inputs":
        layers = lambda w, x: tuple(0 * a for a in net.layers(w, x))  # noqa: E731
    else:
        layers = lambda w, x: (np.append(x[::-1], 1.0), net.layers(w, x)[1])  # noqa: E731
    model = ob.Model("odd", net.predict, net.jacobian, net.parameters, lambda *a: np.ones(13), net.shapes, layers)
    with pytest.raises(ValueError, match="do not agree"):
        ob.create("gp", model=model, step_size=0.01).partial_fit(X, y)
