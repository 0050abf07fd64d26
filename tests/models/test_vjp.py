"""Sums of gradients by `vjp`: the same steps as by the Jacobian, and models whose two functions disagree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob

Same = Callable[[ob.Learner, ob.Learner], None]
BACKENDS = [name for name in ("numpy", "numba") if ob.backends()[name].available]
rng = np.random.default_rng(0)
X, Y = rng.standard_normal((12, 3)), rng.standard_normal((12, 2))
CASES: list[tuple[str, dict[str, Any], Any]] = [
    ("sgd", {"step_size": 0.1}, Y),
    ("sgd", {"step_size": 0.1, "batch_size": 4, "momentum": 0.5, "ridge": 0.1, "averaging": "uniform"}, Y),
    ("sgd", {"loss": "huber", "delta": 0.3, "radius": 1.5}, Y),
    ("sgd", {"loss": "cross_entropy", "step_size": 0.3, "batch_size": 3}, np.eye(2)[(Y[:, 0] > 0).astype(int)]),
    ("softmax", {"step_size": 0.3, "ridge": 0.1}, np.where(Y[:, 0] > 0, "a", "b")),
]


@pytest.mark.parametrize(
    "network", [ob.MLP((5,)), ob.MLP((4, 3), "silu", bias=False), ob.MLP(())], ids=lambda m: m.name
)
def test_a_vjp_is_the_sum_of_the_weighted_gradients(network: ob.Model) -> None:
    w = rng.standard_normal(network.size(3, 2))
    want = sum(network.jacobian(w, x).T @ s for x, s in zip(X, Y, strict=True))
    assert network.vjp
    np.testing.assert_allclose(network.vjp(w, X, Y), want, rtol=1e-12, atol=1e-12)
    single = network.vjp(w.astype("f"), X[:1].astype("f"), Y[:1].astype("f"))
    assert single.dtype == "float32"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {', '.join(case[1])}")
def test_steps_are_those_by_the_jacobian(case: Any, backend: str) -> None:
    method, settings, y = case
    network = ob.MLP((4, 3))
    given = {**settings, "backend": backend, "random_state": 1}
    found = ob.create(method, model=network, **given).partial_fit(X, y)
    want = ob.create(method, model=replace(network, name="plain", vjp=None), **given).partial_fit(X, y)
    np.testing.assert_allclose(found.array("w"), want.array("w"), rtol=1e-12, atol=1e-13)
    if not found.pending:
        np.testing.assert_allclose(found.step(X, y).array("w"), want.step(X, y).array("w"), rtol=1e-12, atol=1e-13)


def test_no_jacobian_is_computed_after_the_first_step() -> None:
    calls: list[int] = []
    network = ob.MLP((4,))

    def counted(w: Any, x: Any) -> Any:
        calls.append(1)
        return network.jacobian(w, x)

    ob.create("sgd", model=replace(network, name="counted", jacobian=counted), backend="numpy").partial_fit(X, Y)
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda w, X, E: -ob.MLP((4,)).vjp(w, X, E), "do not agree"),
        (lambda w, X, E: ob.MLP((4,)).vjp(w, X, E)[:, None], r"vjp\(w, X, E\) returned shape \(26, 1\)"),
        (lambda w, X, E: None, "returned NoneType"),
    ],
    ids=["sign", "shape", "nothing"],
)
def test_a_wrong_vjp_is_refused(wrong: Any, message: str, same_state: Same) -> None:
    model = replace(ob.MLP((4,)), name="wrong", vjp=wrong)
    learner = ob.create("sgd", model=model, backend="numpy").partial_fit(X[:0], Y[:0])
    before = learner.copy()
    with pytest.raises(ValueError, match=message):
        learner.partial_fit(X, Y)
    same_state(learner, before)


def test_a_jacobian_that_overflows_at_the_first_row_proves_nothing() -> None:
    """A product of huge inputs may be finite in one order of its terms and NaN in another."""
    network = ob.MLP((4,))
    rows: list[Any] = []

    def overflows(w: Any, x: Any) -> Any:
        rows.append(x)
        return network.jacobian(w, x) * (np.nan if len(rows) == 1 else 1)

    model = replace(network, name="overflows", jacobian=overflows)
    learner = ob.create("sgd", model=model, backend="numpy").partial_fit(X, Y)
    assert learner.n_samples_seen_ == len(X)
    assert len(rows) == 2
    rows.clear()
    wrong = replace(model, name="wrong", vjp=lambda w, X, E: -network.vjp(w, X, E))
    with pytest.raises(ValueError, match="do not agree"):
        ob.create("sgd", model=wrong, backend="numpy").partial_fit(X, Y)


def test_a_row_near_the_largest_number_proves_nothing() -> None:
    """Terms of its sum may overflow in one order and not in another."""
    network, seen = ob.MLP((4,)), list[Any]()

    def vjp(w: Any, X: Any, E: Any) -> Any:
        seen.append(X)
        return network.vjp(w, X, E) / (2 if abs(X).max() > 1e300 else 1)

    model, rows = replace(network, name="overflows", vjp=vjp), X.copy()
    rows[0] = [1e308, *[0.0] * (X.shape[1] - 1)]
    learner = ob.create("sgd", model=model, backend="numpy", step_size=1e-310).partial_fit(rows, Y)
    assert learner.n_samples_seen_ == len(seen) == len(X)


def test_a_sum_that_is_not_finite_is_refused(same_state: Same) -> None:
    calls: list[int] = []

    def late(w: Any, X: Any, E: Any) -> Any:
        calls.append(1)
        return ob.MLP((4,)).vjp(w, X, E) * (np.nan if len(calls) > 3 else 1)

    learner = ob.create("sgd", model=replace(ob.MLP((4,)), name="late", vjp=late), backend="numpy")
    with pytest.raises(ob.DivergedError) as info:
        learner.partial_fit(X, Y)
    assert info.value.row == learner.n_samples_seen_ == 3


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("settings", [{}, {"momentum": 0.5}, {"batch_size": 2}, {"loss": "huber"}], ids=str)
def test_a_vjp_that_is_a_view_is_learned_as_a_copy(settings: dict[str, Any], backend: str) -> None:
    network = ob.MLP((4,))

    def column(w: Any, X: Any, E: Any) -> Any:
        return np.stack([network.vjp(w, X, E)] * 2, axis=1)[:, 0]

    models = replace(network, name="view", vjp=column), replace(network, name="copy")
    view, copy = (ob.create("sgd", model=m, backend=backend, **settings).partial_fit(X, Y).array("w") for m in models)
    np.testing.assert_array_equal(view, copy)
