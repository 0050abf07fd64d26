"""Derivatives that are not finite at the weights after a step, or inputs of layers before it: the step is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.networks import network_rows

import orfit_bench as ob

Same = Callable[[ob.Learner, ob.Learner], None]
BACKENDS = [name for name in ("numpy", "numba") if ob.backends()[name].available]
NET = ob.MLP((6,))
CASES: list[tuple[str, dict[str, Any], str]] = [
    ("ogd", {}, "jacobian"),
    ("ogd", {"memory": 4}, "jacobian"),
    ("gp", {}, "layers"),
    ("gp", {"rank": 2}, "layers"),
    ("owm", {}, "layers"),
]
X, Y = network_rows(6, d=4)


def spoilt(name: str, call: int, number: float) -> ob.Model:
    """The network, one of whose functions returns this number in one call."""
    calls: list[int] = []

    def function(w: Any, x: Any) -> Any:
        calls.append(1)
        found = getattr(NET, name)(w, x)
        if len(calls) != call:
            return found
        return (*found[:-1], found[-1] * number) if isinstance(found, tuple) else found * number

    return replace(NET, name="own", vjp=None, **{name: function})


def learn(learner: Any, verb: str) -> None:
    if verb == "partial_fit":
        learner.partial_fit(X, Y)
    for x, y in zip(X, Y, strict=True):
        learner.learn_one(x, y)


@pytest.mark.parametrize("number", [np.nan, np.inf])
@pytest.mark.parametrize("verb", ["partial_fit", "learn_one"])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("after", [False, True], ids=["before the step", "after the step"])
def test_the_row_is_refused(after: bool, case: Any, backend: str, verb: str, number: float, same_state: Same) -> None:
    method, settings, name = case
    if method == "owm" and after:
        pytest.skip("owm takes no derivatives after a step")
    calls = 1 if method == "owm" else 2  # a row
    given = {**settings, "backend": backend, "step_size": 0.05}
    for row in (0, 3):
        learner = ob.create(method, model=spoilt(name, calls * row + 1 + after, number), **given)
        twin = ob.create(method, model=replace(NET, name="own", vjp=None), **given)
        with pytest.raises(ob.DivergedError, match="Check that own and its derivatives are finite") as info:
            learn(learner, verb)
        assert info.value.step == row + 1
        same_state(learner, twin.partial_fit(X[:row], Y[:row]) if row else twin.partial_fit(X[:0], Y[:0]))
        same_state(learner.partial_fit(X[row:], Y[row:]), twin.partial_fit(X[row:], Y[row:]))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("method", ["ogd", "gp"])
def test_a_network_whose_units_overflow_after_the_step_is_refused(method: str, backend: str, same_state: Same) -> None:
    """The step of a huge error makes the weights so large that the first hidden unit overflows."""
    model = ob.MLP((1, 1), "relu", bias=False)
    learner = ob.create(method, model=model, backend=backend, initial_weights=[1.0, 1e-150, 1.0], step_size=1.0)
    x, y = np.array([[1e155]]), np.array([1e150])
    before = learner.partial_fit(x[:0], y[:0]).copy()
    with pytest.raises(ob.DivergedError):
        learner.partial_fit(x, y)
    same_state(learner, before)


@pytest.mark.parametrize(("method", "name"), [("ogd", "w"), ("gp", "w")])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_step_changes_the_weights_alone(method: str, name: str, backend: str) -> None:
    """Then restoring the weights undoes the step: other data of the row are stored after it."""
    kernel = ob.create(method, model=NET, backend=backend).rule.kernel
    found: list[Any] = []

    def update(s: Any, *arguments: Any) -> Any:
        before = {field: np.array(getattr(s, field)) for field in s._fields}
        applied = kernel.update(s, *arguments)
        found.append({f for f, was in before.items() if not np.array_equal(was, getattr(s, f))})
        return applied

    learner = ob.create(method, model=replace(NET, name="own"), backend=backend)
    learner.rule.linearized(learner.partial_fit(X[:0], Y[:0]).live_state.sizes)._kernel = type(
        "Watched", (), {"update": staticmethod(update), "store": staticmethod(kernel.store)}
    )
    learner.partial_fit(X, Y)
    assert found == [{name}] * len(X)
