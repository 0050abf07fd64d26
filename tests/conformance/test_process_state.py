"""Kernels that change the process, also to the same value each time, and those that restore what they change."""

from __future__ import annotations

import decimal
import gc
import locale
import os
import random
import signal
import sys
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from faults.fault import Fault
from faults.reference_learner import KernelModule, plain

from orfit_bench.conformance import process_state

PATH = tuple(sys.path)
CHANGES: dict[str, Callable[[], object]] = {
    "the random generator of NumPy": lambda: np.random.seed(0),  # noqa: NPY002
    "the random generator of Python": lambda: random.seed(0),
    "NumPy's print options": lambda: np.set_printoptions(precision=3),
    "the warning filters": lambda: warnings.simplefilter("ignore"),
    "the environment": lambda: os.environ.update(OWN_VARIABLE="7"),
    "the working folder": lambda: os.chdir("/"),
    "the import path": lambda: setattr(sys, "path", [*PATH, "/own"]),
    "the locale": lambda: locale.setlocale(locale.LC_ALL, "C"),
    "the decimal context": lambda: setattr(decimal.getcontext(), "prec", 20),
    "the recursion limit": lambda: sys.setrecursionlimit(3000),
    "garbage collection": gc.disable,
    "a signal handler": lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN),
}
"""Changes that a kernel makes, each time to the same value."""


@pytest.fixture
def restored(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Restore everything after the test."""
    before = locale.setlocale(locale.LC_ALL)
    monkeypatch.setenv("OWN_VARIABLE", "to be removed")
    with process_state.altered(["OWN_VARIABLE"]):
        yield
    locale.setlocale(locale.LC_ALL, before)


def found(change: Callable[[], object]) -> list[str]:
    def learn(s, X, Y, p, out):
        change()
        return plain(s, X, Y, p, out)

    report = Fault("", frozenset(), kernel=KernelModule(learn=learn)).report(only=["process_is_left_as_it_was"])
    return [result.reason for result in report.results]


@pytest.mark.usefixtures("restored")
def test_an_environment_that_is_emptied_is_noticed_each_time() -> None:
    for _ in range(2):
        assert found(os.environ.clear) == ["with the default settings: learning changed the environment"]


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("what", CHANGES)
def test_a_change_to_the_same_value_is_noticed_each_time(what: str) -> None:
    for _ in range(2):
        assert found(CHANGES[what]) == [f"with the default settings: learning changed {what}"]


def test_all_that_must_not_change_has_a_change() -> None:
    others = {
        "the number of threads",
        "NumPy's handling of errors",
    }  # restored after each call
    assert {*CHANGES, *others} == set(process_state.read())


def temporarily() -> None:
    """Change and restore state, as a library may."""
    with np.errstate(all="raise"), warnings.catch_warnings(), decimal.localcontext() as context:
        warnings.simplefilter("error")
        context.prec = 5
        before, enabled = os.environ.get("OWN_VARIABLE"), gc.isenabled()
        os.environ["OWN_VARIABLE"] = "7"
        gc.disable()
        if enabled:
            gc.enable()
        os.environ.pop("OWN_VARIABLE")
        if before is not None:
            os.environ["OWN_VARIABLE"] = before


def test_what_is_restored_is_no_change() -> None:
    assert found(temporarily) == [""]


def test_the_check_itself_leaves_everything_as_it_was() -> None:
    before = process_state.read()
    assert found(lambda: None) == [""]
    assert process_state.read() == before
    with process_state.altered(["PATH"]):
        other = process_state.read()
    same = [name for name, value in other.items() if value == before[name]]
    assert same == ["the number of threads"]
    assert process_state.read() == before
