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
