"""Functions that are bound to a state read the values of schedules in each step."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.conformance.inspection import with_kernel
from orfit_bench.learners.parameters import AHEAD

Same = Callable[[ob.Learner, ob.Learner], None]
D = 6
SCHEDULES = {
    "power": ob.schedules.power(eta0=0.05, power=0.5),
    "sequence": ob.schedules.sequence([0.05, 0.01, 0.04, 0.02]),
}
METHODS = ["lms", "nlms", "sgd", "ogd", "apa", "softmax", "oja", "krasulina", "sanger", "implicit_krasulina"]
SETTINGS: dict[str, dict[str, Any]] = {"apa": {"projection_order": 2}, "ogd": {"memory": 3}}
SETTINGS |= {name: {"n_components": 2} for name in METHODS[6:]}


def create(method: str, dtype: str = "float64", **settings: Any) -> Any:
    return ob.create(method, backend="numba", dtype=dtype, **{**SETTINGS.get(method, {}), **settings})


def make_rows(n: int, method: str, dtype: str = "float64", seed: int = 0) -> tuple[Any, ...]:
    """Rows, with labels or numbers if the method has targets; the first rows contain all labels."""
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((n, D)) * np.linspace(1.5, 0.5, D)).astype(dtype)
    if method in METHODS[6:]:
        return (X,)
    return X, np.arange(n) % 3 if method == "softmax" else rng.standard_normal(n).astype(dtype)


def begun(method: str, dtype: str = "float64", **settings: Any) -> Any:
    learner = create(method, dtype, **settings)
    parts = make_rows(4, method, dtype)
    learner.partial_fit(*parts).learn_one(*(a[0] for a in parts))
    assert learner.live_state.bound
    return learner


def learn_singly(learner: Any, *parts: Any) -> None:
    for row in zip(*parts, strict=True):
        learner.learn_one(*row)


def learn_by_general_path(learner: Any, *parts: Any) -> None:
    """Lists are converted, which bound functions leave to the general path."""
    for row in zip(*parts, strict=True):
        learner.partial_fit(*([a.tolist()] for a in row))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_have_the_result_of_the_general_path(method: str, name: str, dtype: str, same_state: Same) -> None:
    settings = {"step_size": SCHEDULES[name]}
    one, other = begun(method, dtype, **settings), begun(method, dtype, **settings)
    parts = make_rows(40, method, dtype, seed=1)
    learn_singly(one, *parts)
    learn_by_general_path(other, *parts)
    same_state(one, other)


def test_rows_agree_with_the_formula_over_many_steps() -> None:
    X, y = make_rows(3 * AHEAD + 7, "lms")
    learner, w = create("lms", step_size=SCHEDULES["power"]), np.zeros(D)
    for t, (x, target) in enumerate(zip(X, y, strict=True), start=1):
        if t % 100 == 50:  # the general path in between
            learner.partial_fit([x.tolist()], [target])
        else:
            learner.learn_one(x, target)
        w += 0.05 / t**0.5 * (target - x @ w) * x
    np.testing.assert_allclose(learner.array("w")[:, 0], w, rtol=1e-12)


def test_copies_and_states_from_other_learners_have_their_own_steps(same_state: Same) -> None:
    X, y = make_rows(300, "lms", seed=2)
    one = begun("lms", step_size=SCHEDULES["power"])
    copied, wanted = one.copy(), begun("lms", step_size=SCHEDULES["power"])
    for i in range(300):  # in turns, each in a separate step
        one.learn_one(X[i], y[i])
        if i % 3 == 0:
            copied.learn_one(X[i], y[i])
    learn_by_general_path(wanted, X[::3], y[::3])
    same_state(copied, wanted)
    other = begun("lms", step_size=SCHEDULES["sequence"])
    other.live_state = copied.live_state
    same = create("lms", step_size=SCHEDULES["sequence"])
    same.live_state = copied.copy().live_state
    learn_singly(other, X[:5], y[:5])
    learn_by_general_path(same, X[:5], y[:5])
    same_state(other, same)


class Binds:
    """A kernel that also binds a function that must not be called."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)

    def bind_row(self, s: Any, p: Any) -> Any:
        return lambda x, y: 1


def test_methods_that_draw_numbers_take_the_general_path() -> None:
    learner = with_kernel(create("orfit", memory=2, summary="random"), Binds).partial_fit(*make_rows(4, "orfit"))
    assert learner.live_state.bound is None


def test_values_that_overflow_are_not_warned_of() -> None:
    learner = begun("lms", "float32", step_size=ob.schedules.power(eta0=1e-3, power=0.5))
    rule = create("lms", "float32", step_size=ob.schedules.sequence([1.0, 1e300])).rule
    p, set_step = rule.changing_parameters(learner.live_state.sizes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        set_step(2)
    assert p.step_size.tolist() == [np.inf]


def test_an_interrupt_before_the_kernel_changes_nothing(monkeypatch: pytest.MonkeyPatch, same_state: Same) -> None:
    X, y = make_rows(3, "lms")
    learner = begun("lms", step_size=SCHEDULES["power"]).partial_fit(*make_rows(AHEAD, "lms"))
    before, evaluate = learner.copy(), ob.schedules.Power.__call__

    def interrupt(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(ob.schedules.Power, "__call__", interrupt)
    with pytest.raises(KeyboardInterrupt):
        learner.learn_one(X[0], y[0])
    monkeypatch.setattr(ob.schedules.Power, "__call__", evaluate)
    same_state(learner, before)
    same_state(learner.learn_one(X[0], y[0]), before.partial_fit(X[:1].tolist(), y[:1].tolist()))


LOSSES = [{"loss": name} for name in ("huber", "absolute", "epsilon_insensitive", "quantile", "hinge", "logistic")]
FORMS: list[dict[str, Any]] = [
    *LOSSES,
    {"momentum": 0.9},
    {"momentum": ob.schedules.sequence([0.0, 0.5, 0.9])},
    {"averaging": "uniform"},
    {"averaging": "weighted", "weights": ob.schedules.sequence([1.0, 2.0, 3.0])},
    {"averaging": "tail", "tail_start": 9},
    {"ridge": 0.1},
    {"radius": 0.2},
    {"loss": "huber", "momentum": 0.5, "averaging": "uniform", "ridge": 0.01, "radius": 0.5},
]


@pytest.mark.parametrize("settings", FORMS, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("step", ["constant", "power"])
def test_sgd_has_the_result_of_the_general_path(
    settings: dict[str, Any], dtype: str, step: str, same_state: Same
) -> None:
    settings = {"step_size": 0.02 if step == "constant" else SCHEDULES["power"], **settings}
    one, other = (create("sgd", dtype, **settings) for _ in range(2))
    X, y = make_rows(30, "sgd", dtype, seed=4)
    y = np.where(y > 0, 1, -1).astype(dtype) if settings.get("loss") in ("hinge", "logistic") else y
    learn_singly(one, X, y)
    learn_by_general_path(other, X, y)
    same_state(one, other)
    assert bool(one.live_state.bound) == (settings.get("averaging") != "tail")


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("bad", [0.0, 2.0, np.nan, np.inf])
def test_targets_that_are_no_sides_are_refused(loss: str, bad: float, same_state: Same) -> None:
    X, _ = make_rows(3, "sgd")
    learner = create("sgd", loss=loss, step_size=0.1).partial_fit(X, [1.0, -1.0, 1.0]).learn_one(X[0], 1.0)
    assert learner.live_state.bound
    before = learner.copy()
    with pytest.raises(ValueError, match="y"):
        learner.learn_one(X[0], bad)
    same_state(learner, before)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e308])
@pytest.mark.parametrize("settings", FORMS, ids=str)
def test_rows_of_sgd_that_cannot_be_learned_change_nothing(
    settings: dict[str, Any], bad: float, same_state: Same
) -> None:
    X, _ = make_rows(3, "sgd")
    learner = create("sgd", step_size=1e3, **settings)
    learner.partial_fit(1e-250 * X, [1.0, -1.0, 1.0]).learn_one(1e-250 * X[0], 1.0)
    before = learner.copy()
    X[0, 2] = bad
    with pytest.raises((ValueError, ob.DivergedError)):
        learner.learn_one(X[0], -1.0)
    same_state(learner, before)


@pytest.mark.parametrize(
    "schedule", [*SCHEDULES.values(), ob.schedules.constant(0.1), ob.schedules.slide(B=1.0, G=2.0)], ids=str
)
def test_steps_may_be_a_number_or_a_list(schedule: Callable[[Any], Any]) -> None:
    want = schedule(np.array([1, 3]))
    np.testing.assert_array_equal(schedule([1, 3]), want)
    assert schedule(3) == want[1]
