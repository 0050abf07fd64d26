"""Ctrl-C at any point of a call: a learner that goes on has counted exactly the rows that it has learned."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.learners.fleets import fleet as fleets
from orfit_bench.learners.pipelines import pipeline as pipelines

TRIALS = 60
D = 3
X, Y = np.random.default_rng(0).standard_normal((4, D)), np.random.default_rng(1).standard_normal(4)


@pytest.fixture(autouse=True)
def errors_of_numpy() -> Iterator[None]:
    """Restore the state of np.errstate, whose __enter__ may be interrupted too."""
    before = np.geterr()
    yield
    np.seterr(**before)


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """Raise KeyboardInterrupt in the main thread after this time."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def repeat(act: Callable[[], Any]) -> None:
    begin = time.monotonic()
    while time.monotonic() < begin + 60:
        act()


def until_interrupted(act: Callable[[], Any], seconds: float) -> None:
    with pytest.raises(KeyboardInterrupt), interrupted_after(seconds):
        repeat(act)


def is_usable(learner: Any) -> bool:
    with suppress(RuntimeError):
        return bool(learner.to_bytes())
    return False


@pytest.mark.parametrize("steps", [("standardize", "intercept"), ("standardize",)])
@pytest.mark.parametrize("verb", ["partial_fit", "learn_one"])
def test_transforms_know_the_rows_of_the_learner(steps: tuple[str, ...], verb: str) -> None:
    base = ob.pipeline(*steps, ob.create("rls", backend="numpy")).partial_fit(X, Y)
    usable = 0
    for trial in range(TRIALS):
        one = base.copy()
        row = (X, Y) if verb == "partial_fit" else (X[0], Y[0])
        until_interrupted(lambda one=one, row=row: getattr(one, verb)(*row), 0.001 + 2e-5 * trial)
        if is_usable(one.learner):
            usable += 1
            assert one.n_samples_seen_ == one.transforms[0].count
    assert usable


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
        with pytest.raises(RuntimeError, match="KeyboardInterrupt interrupted its kernel"):
            own.predict(X)
    with monkeypatch.context() as patch:
        patch.setattr(pipelines, "learn", interrupt)  # before a row was learned
        with pytest.raises(KeyboardInterrupt):
            one.partial_fit(X, Y)
    assert one.partial_fit(X, Y).n_samples_seen_ == 8


def test_steps_of_a_fleet_are_those_of_its_arrays() -> None:
    base = ob.fleet("rls", 2, backend="numpy", forgetting_factor=1.0)
    rows = np.ones((2, 1, 1)), np.zeros((2, 1))
    base.partial_fit(*rows)
    usable = 0
    for trial in range(TRIALS):
        fleet = base.copy()
        until_interrupted(lambda fleet=fleet: fleet.partial_fit(*rows), 0.001 + 2e-5 * trial)
        if is_usable(fleet):
            usable += 1
            steps = fleet.live_state.n_steps
            np.testing.assert_allclose(fleet.live_state.arrays.P[:, 0, 0], 1 / (1 + steps), rtol=1e-9)
            np.testing.assert_array_equal(fleet.n_samples_seen_, steps)
    assert usable


def test_an_interrupt_after_the_kernel_marks_a_fleet(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*given: Any) -> None:
        raise KeyboardInterrupt

    fleet = ob.fleet("lms", 2, backend="numpy").partial_fit(X, Y, which=[0, 1, 0, 1])
    monkeypatch.setattr(fleets, "count_steps", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fleet.partial_fit(X, Y, which=[0, 1, 0, 1])
    with pytest.raises(RuntimeError, match="KeyboardInterrupt interrupted its kernel"):
        fleet.predict(X, which=[0, 1, 0, 1])
