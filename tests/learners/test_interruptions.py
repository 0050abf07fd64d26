"""Ctrl-C at any line of a call: a learner that goes on has counted exactly the rows that it has learned."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.learners.fleets import fleet as fleets
from orfit_bench.learners.pipelines import pipeline as pipelines

PACKAGE = str(Path(ob.__file__).parent)
D = 3
X, Y = np.random.default_rng(0).standard_normal((4, D)), np.random.default_rng(1).standard_normal(4)


def is_interrupted(line: int, act: Callable[..., Any], *arguments: Any, **named: Any) -> bool:
    """Call a function, and raise KeyboardInterrupt before this line of the package is run; False if it has fewer."""
    left = line

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line":
            left -= 1
            if not left:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act(*arguments, **named)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def is_usable(learner: Any) -> bool:
    with suppress(RuntimeError):
        return bool(learner.to_bytes())
    return False


@pytest.mark.parametrize("steps", [("standardize", "intercept"), ("standardize",)])
@pytest.mark.parametrize("verb", ["partial_fit", "learn_one"])
def test_transforms_know_the_rows_of_the_learner(steps: tuple[str, ...], verb: str) -> None:
    base = ob.pipeline(*steps, ob.create("rls", backend="numpy")).partial_fit(X, Y)
    row, usable, line = (X, Y) if verb == "partial_fit" else (X[0], Y[0]), 0, 1
    while is_interrupted(line, getattr(one := base.copy(), verb), *row):
        if is_usable(one.learner):
            usable += 1
            assert one.n_samples_seen_ == one.transforms[0].count, line
        line += 1
    assert usable > 10
    assert line > 50


def test_an_interrupt_after_the_row_marks_a_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*given: Any) -> Any:
        raise KeyboardInterrupt

    one = ob.pipeline("standardize", "intercept", ob.create("rls", backend="numpy")).partial_fit(X, Y)
    for verb, row in (("partial_fit", (X, Y)), ("learn_one", (X[0], Y[0]))):
        own = one.copy()
        act = getattr(own.learner, verb)
        with monkeypatch.context() as patch:
            patch.setattr(type(own.learner), verb, lambda learner, *row, act=act: interrupt(act(*row)))
            with pytest.raises(KeyboardInterrupt):
                getattr(own, verb)(*row)
        if verb == "partial_fit":  # its rows were undone
            assert own.n_samples_seen_ == own.transforms[0].count == 4
            continue
        with pytest.raises(RuntimeError, match="KeyboardInterrupt interrupted its kernel"):
            own.predict(X)
    with monkeypatch.context() as patch:
        patch.setattr(pipelines, "learn", interrupt)  # before a row was learned
        with pytest.raises(KeyboardInterrupt):
            one.partial_fit(X, Y)
    assert one.partial_fit(X, Y).n_samples_seen_ == 8


@pytest.mark.parametrize("method", ["rls", "class_rls"])
def test_steps_of_a_fleet_are_those_of_its_arrays(method: str) -> None:
    labels = ["a", "b"] if method == "class_rls" else [0.0, 0.0]
    base = ob.fleet(method, 2, backend="numpy").partial_fit(np.ones((2, 1)), labels, which=[0, 1])
    usable, line = 0, 1
    while is_interrupted(line, (one := base.copy()).partial_fit, np.ones((2, 1)), labels, which=[1, 0]):
        if is_usable(one):
            usable += 1
            steps = one.live_state.n_steps
            np.testing.assert_allclose(one.live_state.arrays.P[:, 0, 0], 1 / (1 + steps), rtol=1e-9)
            np.testing.assert_array_equal(one.n_samples_seen_, steps)
            assert ((one.live_state.order >= 0).sum(axis=1) == steps).all() or method == "rls"
        line += 1
    assert usable > 10
    assert line > 50


def test_an_interrupt_after_the_kernel_marks_a_fleet(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*given: Any) -> None:
        raise KeyboardInterrupt

    fleet = ob.fleet("lms", 2, backend="numpy").partial_fit(X, Y, which=[0, 1, 0, 1])
    monkeypatch.setattr(fleets, "count_steps", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fleet.partial_fit(X, Y, which=[0, 1, 0, 1])
    with pytest.raises(RuntimeError, match="KeyboardInterrupt interrupted its kernel"):
        fleet.predict(X, which=[0, 1, 0, 1])


@pytest.mark.parametrize("verb", ["partial_fit", "learn_one"])
def test_a_pipeline_whose_learner_was_restored_goes_on(verb: str) -> None:
    def jacobian(w: Any, x: Any) -> Any:
        if broken:
            raise KeyboardInterrupt
        return linear.jacobian(w, x)

    linear, broken = ob.MLP(()), list[bool]()
    model = ob.Model("broken", linear.predict, jacobian, linear.parameters, linear.start)
    one = ob.pipeline("standardize", "intercept", ob.create("rls", backend="numpy", model=model)).partial_fit(X, Y)
    state = one.to_bytes()
    broken.append(True)
    with pytest.raises(KeyboardInterrupt):
        getattr(one, verb)(*((X, Y) if verb == "partial_fit" else (X[0], Y[0])))
    broken.clear()
    assert one.to_bytes() == state
    assert one.partial_fit(X, Y).n_samples_seen_ == one.transforms[0].count == 8
