"""Failures of laws in reports of the kit and of the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner
from helpers.methods import change

from orfit_bench.cli import main
from orfit_bench.conformance.result import PlannedCheck
from orfit_bench.conformance.runner import run_check
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Law, Measured, Rows


def raising(create: Callable[..., Any], rows: Rows) -> Measured:
    """A law that fails."""
    raise KeyError("no such field")


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    methods = registry().methods
    monkeypatch.setitem(methods, "lms", change(methods["lms"], theory={"laws": (Law(raising, "a test", exponent=1),)}))


@pytest.mark.usefixtures("faulty")
def test_result_of_a_raising_law_names_the_data_set() -> None:
    result = run_check(PlannedCheck("law_raising", "lms", "numpy", "float64", 0))
    assert "raised KeyError: 'no such field' (test_law_failures.py:" in result.reason
    assert "), in the law raising of lms on numpy, float64, data set '" in result.reason


@pytest.mark.usefixtures("faulty")
def test_command_names_the_data_set_of_a_raising_law() -> None:
    result = CliRunner().invoke(main, ["laws", "lms"])
    assert result.exit_code == 1
    assert "KeyError: 'no such field', in the law raising of lms on numpy, float64, data set '" in result.stderr


@pytest.mark.parametrize("returned", [None, 0.5, (0.0, 1, 1.0)])
def test_law_that_returns_something_else_is_named(monkeypatch: pytest.MonkeyPatch, returned: object) -> None:
    def wrong(create: Callable[..., Any], rows: Rows) -> Any:
        """A law that returns no Measured."""
        return returned

    methods = registry().methods
    monkeypatch.setitem(methods, "lms", change(methods["lms"], theory={"laws": (Law(wrong, "a test", exponent=1),)}))
    result = run_check(PlannedCheck("law_wrong", "lms", "numpy", "float64", 0))
    assert "TypeError: wrong (test_law_failures.py:" in result.reason
    got = "None" if returned is None else type(returned).__name__
    assert f"returned {got}, want Measured(deviation, n, condition), in the law" in result.reason


def test_batch_solution_of_another_shape_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def batch(X: Any, Y: Any, w0: Any, settings: Any) -> Any:
        return w0[0]

    methods = registry().methods
    monkeypatch.setitem(methods, "lms", change(methods["lms"], theory={"batch": batch}))
    result = run_check(PlannedCheck("agrees_with_batch_solution", "lms", "numpy", "float64", 0))
    assert "batch (test_law_failures.py:" in result.reason
    assert "returned shape (1,) as the batch solution for 24 rows of 5 features, want (5, 1)," in result.reason
