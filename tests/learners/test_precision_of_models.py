"""Models that compute in another precision than the learner: results agree in the coarser of the two."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.networks import network_rows

import orfit_bench as ob

NET = ob.MLP((4,))
FUNCTIONS = ("predict", "jacobian", "jacobians", "vjp", "layers")
COARSE = [FUNCTIONS, *((name,) for name in FUNCTIONS)]
CASES: list[tuple[str, dict[str, Any]]] = [
    ("sgd", {}),
    ("sgd", {"batch_size": 3}),
    ("rls", {}),
    ("orfit", {"batch_size": 2}),
    ("gp", {}),
    ("owm", {}),
]


def coarse(names: tuple[str, ...], error: float = 0.0, on: str = "") -> ob.Model:
    """The network with these functions in float32; one of them, `on`, with a relative error."""

    def in_float32(name: str) -> Any:
        def function(*arguments: Any) -> Any:
            dtype = np.float32 if name in names else np.float64
            found = getattr(NET, name)(*(a.astype(dtype) for a in arguments))
            return tuple(map(wrong, found)) if name == "layers" else wrong(found)

        def wrong(a: Any) -> Any:
            return a * (1 + error * np.cos(np.arange(a.size)).reshape(a.shape)).astype(a.dtype) if name == on else a

        return function

    return replace(NET, name="coarse", **{name: in_float32(name) for name in FUNCTIONS})


@pytest.mark.parametrize("names", COARSE, ids=lambda names: f"{len(names)} {names[0]}")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_functions_in_float32_are_learned_in_float64(case: Any, names: tuple[str, ...]) -> None:
    X, Y = network_rows(12, d=3, outputs=2)
    found, want = (ob.create(case[0], model=m, **case[1]).partial_fit(X, Y).predict(X) for m in (coarse(names), NET))
    np.testing.assert_allclose(found, want, atol=1e-4)


@pytest.mark.parametrize(
    ("method", "settings", "on"),
    [("sgd", {}, "vjp"), ("orfit", {"batch_size": 2}, "jacobians"), ("gp", {}, "layers"), ("owm", {}, "layers")],
)
@pytest.mark.parametrize(
    ("names", "seen"),
    [((), 1e-6), (("predict",), 1e-6), (("jacobian",), 1e-2), (FUNCTIONS, 1e-2)],
    ids=["float64", "others in float32", "jacobian in float32", "float32"],
)
def test_larger_differences_are_refused(
    method: str, settings: dict[str, Any], on: str, names: tuple[str, ...], seen: float
) -> None:
    """A function that is not compared does not loosen the tolerance."""
    X, Y = network_rows(4, d=3, outputs=2)
    learner = ob.create(method, model=coarse(names, seen, on), **settings)
    with pytest.raises(ValueError, match="do not agree"):
        learner.partial_fit(X, Y)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_gradients_that_cancel_in_a_batch_are_no_sign_of_an_error(backend: str) -> None:
    X = np.random.default_rng(0).uniform(-1, 1, (20, 3))
    y = X @ [1.0, 2.0, 3.0]
    first = ob.create("sgd", backend=backend, model=ob.MLP(()), initial_weights=np.zeros(4), batch_size=40)
    first.partial_fit(np.concatenate([X, X]), np.concatenate([y, -y]))
    noisy = y + np.random.default_rng(1).standard_normal(20)
    best = np.linalg.lstsq(np.column_stack([X, np.ones(20)]), noisy, rcond=None)[0]
    at_minimum = ob.create("sgd", backend=backend, model=ob.MLP(()), initial_weights=best, batch_size=20)
    for _ in range(30):
        at_minimum.partial_fit(X, noisy)
    np.testing.assert_allclose(at_minimum.array("w")[:, 0], best, rtol=1e-12)


def test_a_wrong_vjp_is_found_after_gradients_that_cancel() -> None:
    linear = ob.MLP(())
    wrong = replace(linear, name="wrong", vjp=lambda w, X, E: 1.01 * linear.vjp(w, X, E))  # type: ignore[misc]
    X = np.random.default_rng(0).uniform(-1, 1, (20, 3))
    learner = ob.create("sgd", backend="numpy", model=wrong, initial_weights=np.zeros(4), batch_size=20)
    learner.partial_fit(X, np.zeros(20)).partial_fit(np.concatenate([X[:10], X[:10]]), np.repeat([1.0, -1.0], 10))
    with pytest.raises(ValueError, match="do not agree"):
        learner.partial_fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("change", "stated"),
    [
        ({"name": b"x"}, "model: name=b'x', want a string"),
        ({"name": ""}, "model: name='', want a string"),
        ({"predict": None}, "model 'mlp.*': predict=None, want a function"),
        ({"jacobian": 3}, "model 'mlp.*': jacobian=3, want a function"),
        ({"vjp": 3}, "model 'mlp.*': vjp=3, want a function"),
    ],
)
def test_wrong_parts_of_a_model_are_refused(change: dict[str, Any], stated: str) -> None:
    with pytest.raises(TypeError, match=stated):
        replace(ob.MLP((2,)), **change)
