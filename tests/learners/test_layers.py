"""Methods that learn layer by layer (gp, owm): precision, state, models that are refused or written by hand."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.cases import SEQUENCE, case_name
from helpers.networks import network_rows

import orfit_bench as ob

Same = Callable[[ob.Learner, ob.Learner], None]
CASES: list[tuple[str, dict[str, Any]]] = [
    ("gp", {"step_size": 0.1}),
    ("gp", {"rank": 2}),
    ("gp", {"rank": 99, "step_size": SEQUENCE}),
    ("owm", {}),
    ("owm", {"forgetting_factor": 0.9, "ridge": 0.5}),
    ("owm", {"forgetting_factor": 1.1, "step_size": SEQUENCE}),
]


@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_single_precision_is_near_double(case: Any) -> None:
    X, Y = network_rows(12, d=4)
    one, two = (ob.create(case[0], model=ob.MLP((5,)), dtype=t, **case[1]) for t in ("float32", "float64"))
    np.testing.assert_allclose(one.partial_fit(X, Y).predict(X), two.partial_fit(X, Y).predict(X), atol=1e-4)


@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e6])
@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_rows_of_any_scale_are_learned(case: Any, scale: float) -> None:
    """tanh saturates: large rows are learned by the upper layers, tiny ones by the biases; nothing is lost or NaN."""
    X, Y = network_rows(6)
    learner = ob.create(case[0], model=ob.MLP((4,)), random_state=2, **case[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ob.AccuracyWarning)  # these rows are large compared with owm's prior
        learner.partial_fit(scale * X, Y)
    assert all(np.isfinite(a.values).all() for a in learner.state().variables.values())
    assert learner.n_samples_seen_ == 6


def test_names_and_dimensions_of_a_state() -> None:
    X, Y = network_rows(4, d=6, outputs=2)
    gp = ob.create("gp", rank=5, model=ob.MLP((3,))).partial_fit(X, Y).state()
    assert {name: (a.dims, a.shape) for name, a in gp.variables.items() if not name.startswith("pending")} == {
        "w": (("parameter", "output"), (7 * 3 + 4 * 2, 1)),
        "basis_1": (("direction_1", "input_1"), (5, 7)),
        "basis_2": (("direction_2", "input_2"), (4, 4)),
        "singular_values_1": (("direction_1",), (5,)),
        "singular_values_2": (("direction_2",), (4,)),
    }
    owm = ob.create("owm", model=ob.MLP((3,), bias=False)).partial_fit(X, Y).state()
    assert {name: a.dims for name, a in owm.variables.items() if name.startswith(("P", "precision"))} == {
        "P_1": ("input_1", "input_1_2"),
        "P_2": ("input_2", "input_2_2"),
        "precision_lost": (),
    }
    assert owm["P_2"].shape == (3, 3)


@pytest.mark.parametrize("method", ["gp", "owm"])
def test_a_step_that_would_not_be_finite_is_refused(method: str, same_state: Same) -> None:
    X, Y = network_rows(6)
    Y[2:] *= 1e3
    learner = ob.create(method, model=ob.MLP((4,)), step_size={"sequence": {"values": [0.1, 0.1, 1e308, 0.1]}})
    twin = learner.copy().partial_fit(X[:2], Y[:2])
    with pytest.raises(ob.DivergedError, match=f"{method} diverged at step 3, row 2") as info:
        learner.partial_fit(X, Y)
    assert (info.value.step, info.value.row) == (3, 2)
    same_state(learner, twin)


@pytest.mark.parametrize("method", ["gp", "owm"])
def test_models_without_layers_are_refused(method: str, cubic: ob.Model) -> None:
    message = (
        rf"{method} learns layer by layer, but the model '{{}}' does not define its layers: pass model=orfit_bench.MLP"
    )
    for model, name in ((None, "linear"), ("linear", "linear"), (cubic, "cubic")):
        with pytest.raises(ValueError, match=message.format(name)):
            ob.create(method, **({} if model is None else {"model": model}))
    with pytest.raises(ValueError, match=message.format(r"mlp\(2; tanh\)")):
        ob.create(method, model=replace(ob.MLP((2,)), shapes=None))
    with pytest.raises(TypeError, match="learns row by row and has no rule for a block"):
        ob.create(method, model=ob.MLP()).step([[1.0]], [1.0])


NET = ob.MLP((2,))
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "matrices too small": (
        {"shapes": lambda d, c: ((d, 2), (2, c))},
        r"its layers' matrices, of shapes \(\(3, 2\), \(2, 2\)\), have 10 entries, but it has 14 parameters",
    ),
    "no tuple": ({"layers": lambda w, x: None}, "layers(w, x) returned NoneType, want a tuple of 2"),
    "one layer too few": ({"layers": lambda w, x: NET.layers(w, x)[:1]}, "layers(w, x) returned 1 arrays"),
    "no constant": (
        {"layers": lambda w, x: (x, NET.layers(w, x)[1])},
        r"layers(w, x)\[0\] returned shape \(3,\), dtype float64, want real numbers of shape \(4,\)",
    ),
    "constant first": (
        {"layers": lambda w, x: (np.append(1, x), NET.layers(w, x)[1])},
        r"layers(w, x)\[0\] and jacobian(w, x) do not agree: an output's gradient by this layer's 4 x 2 matrix",
    ),
    "before the activation": (
        {"layers": lambda w, x: (NET.layers(w, x)[0], np.arctanh(np.minimum(NET.layers(w, x)[1], 0.999)))},
        r"layers(w, x)\[1\] and jacobian(w, x) do not agree",
    ),
    "matrices in Fortran order": (
        {"jacobian": lambda w, x: transposed(NET.jacobian(w, x))},
        r"layers(w, x)\[0\] and jacobian(w, x) do not agree",
    ),
    "texts": ({"layers": lambda w, x: (np.array(["a"] * 4), np.ones(3))}, r"layers(w, x)\[0\] returned"),
}


def transposed(J: Any) -> Any:
    """The gradients of a 4 x 2 and a 3 x 2 matrix, each transposed."""
    first, second = J[:, :8].reshape(-1, 4, 2), J[:, 8:].reshape(-1, 3, 2)
    return np.concatenate([a.swapaxes(1, 2).reshape(len(J), -1) for a in (first, second)], axis=1)


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("method", ["gp", "owm"])
def test_layers_that_do_not_fit_the_model_are_refused(method: str, case: str, same_state: Same) -> None:
    """The first row is refused, and the learner is unchanged."""
    parts, message = WRONG[case]
    X, Y = network_rows(2, outputs=2)
    learner = ob.create(method, model=replace(NET, name="mine", **parts))
    with pytest.raises(ValueError, match="model 'mine': " + message.replace("(w, x)", r"\(w, x\)")):
        learner.partial_fit(X, Y)
    same_state(learner, ob.create(method, model=replace(NET, name="mine", **parts)))


@pytest.mark.parametrize("case", CASES, ids=case_name)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_layered_model_written_by_hand_learns_as_the_mlp(case: Any, dtype: str) -> None:
    """A handwritten network, whose functions all compute in float64, learns like the one of the package."""

    def split(w: Any) -> tuple[Any, Any]:
        return w[:9].reshape(3, 3).astype(float), w[9:, None].astype(float)

    def layers(w: Any, x: Any) -> Any:
        return [x.astype(float), np.tanh(x @ split(w)[0])]

    def jacobian(w: Any, x: Any) -> Any:
        _, h = layers(w, x)
        return np.concatenate([np.outer(x, split(w)[1][:, 0] * (1 - h**2)).ravel(), h])[None]

    def predict(w: Any, X: Any) -> Any:
        return np.tanh(X @ split(w)[0]) @ split(w)[1]

    mine = ob.Model("mine", predict, jacobian, 12, shapes=lambda d, c: ((3, 3), (3, 1)), layers=layers)
    X, Y = network_rows(6)
    w0 = np.random.default_rng(5).standard_normal(12)
    own, shipped = (
        ob.create(case[0], model=m, dtype=dtype, initial_weights=w0, **case[1]).partial_fit(X, Y).state()
        for m in (mine, ob.MLP((3,), bias=False))
    )
    for name, a in own.variables.items():
        assert a.dtype == dtype
        if not name.startswith("basis"):  # rows of a basis may differ in sign
            np.testing.assert_allclose(a, shipped[name], rtol=1e-10 if dtype == "float64" else 1e-3, atol=1e-6)


@pytest.mark.parametrize("method", ["gp", "owm"])
def test_a_damaged_layer_is_refused(method: str) -> None:
    X, Y = network_rows(4)
    state = ob.create(method, model=NET).partial_fit(X, Y).state()
    field = "basis" if method == "gp" else "P"
    with pytest.raises(ValueError, match=f"the array '{field}_2' is missing"):
        ob.restore(state.drop_vars(f"{field}_2"), model=NET)
    state[f"{field}_1"].values[0, 0] = np.nan
    with pytest.raises(ValueError, match=f"'{field}_1' holds numbers that are not finite"):
        ob.restore(state, model=NET)
