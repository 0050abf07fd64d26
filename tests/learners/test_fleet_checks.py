"""The check of rows that a method defines, for members with different settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from helpers.methods import change

import orfit_bench as ob
from orfit_bench.plugins.registry import registry

N, D = 4, 3


class Checked:
    """A plugin whose method `checked` is lms, refuses targets above its setting `step_size`, and counts these checks.

    It reads the setting only for targets above 1.
    """

    SPEC_VERSION = (1, 0)
    calls = 0

    def validate_rows(self, settings: Any, steps: int, X: Any, Y: Any, is_step: bool, linear: bool) -> None:
        self.calls += 1
        if Y.size and Y.max() > 1 and Y.max() > settings["step_size"](np.array([1]))[0]:
            raise ValueError("y: a target is too large")

    @ob.hookimpl
    def methods(self) -> Any:
        parts = {"kernel": {"validate_rows": self.validate_rows}, "theory": {"laws": ()}}
        return [change(ob.methods()["lms"], name="checked", **parts)]

    @ob.hookimpl
    def kernels(self) -> Any:
        return {("numpy", "checked"): registry().kernel("numpy", "lms")}


@pytest.fixture
def plugin() -> Iterator[Checked]:
    ob.register(found := Checked(), "checked")
    yield found
    ob.unregister("checked")


def tick(largest: float) -> tuple[Any, Any]:
    y = np.full((N, 1), 0.5)
    y[2] = largest
    return np.ones((N, 1, D)), y


def test_settings_that_are_not_read_need_one_call(plugin: Checked) -> None:
    fleet = ob.fleet("checked", N, backend="numpy", step_size=[0.1, 0.2, 3.0, 0.4])
    fleet.partial_fit(*tick(0.9))
    assert plugin.calls == 1
    fleet.partial_fit(*tick(2.9))  # which member 2 allows, not member 0
    assert plugin.calls == 1 + 1 + N


def test_the_member_whose_setting_refuses_a_row_is_named(plugin: Checked) -> None:
    fleet = ob.fleet("checked", N, backend="numpy", step_size=[9.0, 0.2, 3.0, 0.4]).partial_fit(*tick(0.5))
    before = fleet.to_bytes()
    with pytest.raises(ValueError, match=r"y: a target is too large \(counting the rows of member 2 alone\)"):
        fleet.partial_fit(*tick(3.1))  # which member 0 allows
    assert fleet.to_bytes() == before


def test_targets_of_members_with_own_step_sizes_are_checked() -> None:
    fleet = ob.fleet("sgd", N, backend="numpy", loss="hinge", step_size=[0.1, 0.2, 0.3, 0.4])
    X, _ = tick(1.0)
    fleet.partial_fit(X, np.ones((N, 1)))
    bad = np.ones((N, 1))
    bad[3] = 0.5
    with pytest.raises(ValueError, match=r"row 0 holds 0\.5.*member 3"):
        fleet.partial_fit(X, bad)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("method", ["lms", "sgd", "rls"])
def test_a_call_without_rows_changes_nothing(method: str, backend: str) -> None:
    fleet = ob.fleet(method, N, backend=backend).partial_fit(*tick(1.0))
    before = fleet.to_bytes()
    fleet.partial_fit(np.empty((N, 0, D)), np.empty((N, 0)))
    fleet.partial_fit(np.empty((0, D)), np.empty(0), which=np.empty(0, int))
    assert fleet.to_bytes() == before
