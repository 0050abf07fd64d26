"""Methods that learn models: networks, models of users, and what their functions may do."""

from __future__ import annotations

import doctest
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob

Same = Callable[[ob.Learner, ob.Learner], None]
METHODS = [name for name, method in ob.methods().items() if method.kernel.models and method.traits.numbers]
NETWORKS = {
    "linear with bias": (ob.MLP(()), None),
    "one hidden layer": (ob.MLP((5,)), None),
    "three outputs": (ob.MLP((4, 3), "relu"), 3),
    "deep, no bias": (ob.MLP((3, 4, 2), "silu", bias=False), 1),
}


def test_the_linear_model_by_name(same_state: Same, rows: Any) -> None:
    same_state(ob.create("rls", model="linear").partial_fit(*rows(4)), ob.create("rls").partial_fit(*rows(4)))
    with pytest.raises(TypeError, match=r"model: got str, want orfit_bench.MLP\(...\)"):
        ob.create("rls", model="mlp")


def test_the_name_of_a_network_is_not_for_other_models() -> None:
    own = ob.Model("mlp(3; tanh)", lambda w, X: X @ w[:, None], lambda w, x: x[None], lambda d, c: d)
    with pytest.raises(ValueError, match=r"model: the name 'mlp\(3; tanh\)' is that of an orfit_bench.MLP"):
        ob.create("rls", model=own, initial_weights=np.zeros(2))


def make_network_rows(outputs: int | None, n: int = 7) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((n, 3)) / 2, rng.standard_normal(n if outputs is None else (n, outputs)) / 4
    X[4:5] = X[1]
    return X, y


@pytest.mark.parametrize("method", METHODS)
def test_a_network_learns(method: str) -> None:
    """Learned rows are predicted better than before; all methods change the weights."""
    X, y = make_network_rows(None, n=3)
    learner = ob.create(method, model=ob.MLP((8,)), random_state=1).partial_fit(X[:0], y[:0])
    before = learner.predict(X[:1])
    learner.partial_fit(X[:1], y[:1])
    assert abs(learner.predict(X[:1]) - y[:1]) < abs(before - y[:1])


@pytest.mark.parametrize("way", ["copy", "restore", "load", "pickle"])
@pytest.mark.parametrize("method", METHODS)
def test_a_state_is_restored_with_its_network_only(method: str, way: str, same_state: Same, tmp_path: Path) -> None:
    X, y = make_network_rows(3)
    learner = ob.create(method, model=ob.MLP((4,), "elu")).partial_fit(X[:4], y[:4])
    learner.save(tmp_path / "s.npz")
    again = {
        "copy": lambda **_: learner.copy(),
        "pickle": lambda **m: ob.from_bytes(pickle.loads(pickle.dumps(learner)).to_bytes(), **m),
        "restore": lambda **m: ob.restore(learner.state(), **m),
        "load": lambda **m: ob.load(tmp_path / "s.npz", **m),
    }[way]
    if way != "copy":
        for wrong in (ob.MLP((4,)), ob.MLP((4,), "elu", bias=False)):
            with pytest.raises(ValueError, match=r"belongs to the model 'mlp\(4; elu\)', got .*: pass model="):
                again(model=wrong)
        assert again(model=ob.MLP((4,), "elu")).state().identical(learner.state())
    other = again()
    assert other.model is learner.model
    same_state(other.partial_fit(X[4:], y[4:]), learner.partial_fit(X[4:], y[4:]))


@pytest.mark.parametrize("method", [name for name in METHODS if "w" in ob.methods()[name].combine.averages])
def test_learners_of_equal_networks_are_averaged(method: str) -> None:
    """Each was given a separate network object; they are the same model."""
    X, y = make_network_rows(None)
    learners = [ob.create(method, model=ob.MLP((4,), "gelu"), random_state=i).partial_fit(X, y) for i in range(2)]
    mean = np.mean([learner.array("w") for learner in learners], axis=0)
    ob.average(learners)
    np.testing.assert_allclose(learners[0].array("w"), mean)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize(("method", "more"), [("orfit", {}), ("rls", {"forgetting_factor": 0.0}), ("icl", {})])
def test_orfit_on_a_network_is_interpolating_rls_step_by_step(method: str, more: Any, network: str) -> None:
    """Thesis, Theorem 9: w_i is the point nearest to w_0 that fits all rows as linearized when they came."""
    model, outputs = NETWORKS[network]
    rng = np.random.default_rng(7)
    X, Y = rng.standard_normal((4, 6)) / 2, rng.standard_normal((4, outputs or 1)) / 4
    learner = ob.create(method, model=model, **more).partial_fit(X[:0], Y[:0])
    w0 = w = learner.array("w")[:, 0]
    A, b = np.zeros((0, len(w))), np.zeros(0)
    for x, y in zip(X, Y, strict=True):
        J = model.jacobian(w, x)
        A, b = np.vstack([A, J]), np.append(b, y - model.predict(w, x[None])[0] + J @ w)
        if np.linalg.cond(A) > 1e5:  # independent gradients only: a relu may be dead
            break
        w = learner.partial_fit(x[None], y[None]).array("w")[:, 0]
        np.testing.assert_allclose(w, w0 + np.linalg.pinv(A) @ (b - A @ w0), atol=1e-9 * abs(w).max())
    assert len(A) > 1


def handwritten() -> ob.Model:
    """f(x; w) = sum_k v_k exp(-(u_k'x)^2), three bumps, w = (u, v), with a handwritten Jacobian."""

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
    """The same model as a formula with automatic differentiation."""
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
    """Its two functions come from a library that the host does not know; results differ only by rounding."""
    X, y = make_network_rows(None)
    models = handwritten(), differentiated()
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
    plain = replace(plain, name="plain", vjp=None, jacobians=None)  # these are rounded differently
    reported = [ob.create(method, model=model, **settings).prequential(X, Y) for model in (plain, reusing)]
    np.testing.assert_array_equal(*reported)
    states = [ob.create(method, model=model, **settings).partial_fit(X, Y).state()["w"] for model in (plain, reusing)]
    np.testing.assert_array_equal(*states)


@pytest.mark.parametrize(
    ("shapes", "stated"), [(None, "None"), (((4, 3), (4, 2, 1)), "4, 2, 1"), (((4.0, 3), (4, 2)), "4.0")], ids=str
)
def test_invalid_shapes_are_refused(shapes, stated):
    net = ob.MLP((3,))
    model = ob.Model("odd", net.predict, net.jacobian, net.parameters, net.start, lambda d, c: shapes, net.layers)
    with pytest.raises(ValueError, match=f"'odd': shapes.*{stated}.*want a pair of integers"):
        ob.create("gp", model=model).partial_fit(np.ones((2, 3)), np.ones((2, 2)))


@pytest.mark.parametrize("shapes", [((-4, -3), (4, 2)), ((4, 3), (0, 5), (4, 2)), ((4, 3), (4, 2), (3, 0))], ids=str)
@pytest.mark.parametrize("method", ["gp", "owm"])
def test_shapes_without_entries_are_refused(method, shapes):
    model = replace(ob.MLP((3,)), name="odd", shapes=lambda d, c: shapes)
    with pytest.raises(ValueError, match=r"'odd': shapes\(d, c\) returned .*, want integers of at least 1"):
        ob.create(method, model=model).partial_fit(np.ones((2, 3)), np.ones((2, 2)))


def test_a_number_of_parameters_that_is_no_integer_is_refused():
    net = ob.MLP((3,))
    floating = ob.Model("odd", net.predict, net.jacobian, 20.0)
    with pytest.raises(ValueError, match=r"parameters gives 20\.0, want an integer"):
        ob.create("lms", model=floating, initial_weights=np.zeros(20)).partial_fit(np.ones((2, 3)), np.ones((2, 2)))


@pytest.mark.parametrize("wrong", ["zero inputs", "wrong inputs that a dead first row hides"])
def test_layers_that_disagree_are_found_as_soon_as_a_row_shows_it(wrong):
    net = ob.MLP((3,), "relu")
    X, y = np.array([[-1.0, -2.0], [1.0, 2.0]]), np.ones(2)  # with weights of one the first row activates no unit
    if wrong == "zero inputs":
        layers = lambda w, x: tuple(0 * a for a in net.layers(w, x))  # noqa: E731
    else:
        layers = lambda w, x: (np.append(x[::-1], 1.0), net.layers(w, x)[1])  # noqa: E731
    model = ob.Model("odd", net.predict, net.jacobian, net.parameters, lambda *a: np.ones(13), net.shapes, layers)
    with pytest.raises(ValueError, match="do not agree"):
        ob.create("gp", model=model, step_size=0.01).partial_fit(X, y)


def writes(function, place):
    """The function, which also adds 1 to one of its arguments."""

    def act(*arguments):
        found = function(*arguments)
        arguments[place][...] += 1
        return found

    return act


def decay(**functions):
    known = {
        "predict": lambda w, X: (w[0] * np.exp(-w[1] * X[:, 0]))[:, None],
        "jacobian": lambda w, x: np.array([[1.0, -w[0] * x[0]]]) * np.exp(-w[1] * x[0]),
    }
    return ob.Model("decay", **{**known, **functions}, parameters=2)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize(("function", "place", "argument"), [
    ("predict", 0, "w"), ("predict", 1, "X"), ("jacobian", 0, "w"), ("jacobian", 1, "x"),
])  # fmt: skip
def test_a_model_that_writes_to_its_arguments_is_refused(function, place, argument, backend):
    model = decay(**{function: writes(getattr(decay(), function), place)})
    learner = ob.create("rls", backend=backend, model=model, initial_weights=[1.0, 1.0])
    X = np.array([[0.5], [1.0]])
    text = rf"model 'decay': {function}\(w, {'X' if function == 'predict' else 'x'}\) writes to {argument}: let it work"
    with pytest.raises(ValueError, match=text):
        learner.partial_fit(X, np.ones(2))
    assert X.tolist() == [[0.5], [1.0]]
    assert learner.n_samples_seen_ == 0
    good = ob.create("rls", backend=backend, model=decay(), initial_weights=[1.0, 1.0]).partial_fit(X, np.ones(2))
    before, bad = good.state(), ob.restore(good.state(), model=model)
    if function == "predict":
        with pytest.raises(ValueError, match=text):
            bad.predict(X)
    assert bad.state().equals(before)
    assert X.tolist() == [[0.5], [1.0]]


def test_a_jacobian_and_layers_that_write_are_refused_where_another_function_is_used():
    X, y = np.array([[0.5], [1.0]]), np.ones(2)
    slopes = decay(jacobian=writes(decay().jacobian, 0), vjp=lambda w, X, E: decay().jacobian(w, X[0]).T @ E[0])
    with pytest.raises(ValueError, match=r"jacobian\(w, x\) writes to w"):
        ob.create("sgd", backend="numpy", model=slopes, initial_weights=[1.0, 1.0]).partial_fit(X[:1], y[:1])
    net = replace(ob.MLP((2,)), name="net", layers=writes(ob.MLP((2,)).layers, 1))
    with pytest.raises(ValueError, match=r"layers\(w, x\) writes to x"):
        ob.create("gp", backend="numpy", model=net).partial_fit(X, y)
    assert X.tolist() == [[0.5], [1.0]]


def test_a_call_without_rows_shows_nothing_and_one_that_fails_is_undone():
    def fails(w, X):
        X += 1
        raise RuntimeError("no prediction")

    X, y = np.array([[0.5], [1.0]]), np.ones(2)
    learner = ob.create(
        "rls", backend="numpy", model=decay(predict=writes(decay().predict, 1)), initial_weights=[1.0, 1.0]
    )
    learner.partial_fit(X[:0], y[:0]).predict(X[:0])
    with pytest.raises(ValueError, match="writes to X"):
        learner.partial_fit(X, y)
    with pytest.raises(RuntimeError, match="no prediction"):
        ob.create("rls", backend="numpy", model=decay(predict=fails), initial_weights=[1.0, 1.0]).partial_fit(X, y)
    assert X.tolist() == [[0.5], [1.0]]


def test_a_vjp_that_writes_to_its_arguments_is_refused():
    model = decay(vjp=lambda w, X, E: E.fill(0.0) or np.zeros(2))
    learner = ob.create("sgd", backend="numpy", model=model, initial_weights=[1.0, 1.0])
    with pytest.raises(ValueError, match=r"vjp\(w, X, E\) writes to E: let it work on a copy"):
        learner.partial_fit([[0.5]], [3.0])


@pytest.mark.parametrize("parameters", [0, -1, lambda d, c: 0])
def test_a_model_without_parameters_is_refused(parameters):
    model = ob.Model("empty", decay().predict, decay().jacobian, parameters=parameters)
    with pytest.raises(ValueError, match=r"parameters gives (0|-1), want an integer of at least 1"):
        ob.create("rls", backend="numpy", model=model, initial_weights=[]).partial_fit([[0.5]], [1.0])


def test_parts_of_a_transition_are_checked():
    for given, message in (
        (("x", 3, abs), "Transition 'x': function=3, want a function"),
        (("x", abs, None), "Transition 'x': jacobian=None, want a function"),
        ((3, abs, abs), "Transition: name=3, want a string"),
        (("", abs, abs), "Transition: name='', want a string"),
    ):
        with pytest.raises(TypeError, match=message):
            ob.Transition(*given)
