"""Each operation on files fails in each way: nothing is lost, and nothing changes silently."""

from __future__ import annotations

import sys

import pytest
from helpers.injected_failures import ACTIONS, CRASHES, ERRORS, inject, points

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ACTIONS if name != "save"]


@pytest.mark.parametrize("name", [pytest.param("save", marks=pytest.mark.integration), *SLOW])
def test_nothing_is_lost_and_nothing_changes_silently(name: str) -> None:
    found = inject(ACTIONS[name])
    assert len(found) >= len((*ERRORS, *CRASHES))
    assert [(point, verdict) for point, verdict in found if verdict.verdict != "fine"] == []


def test_a_write_may_also_be_short() -> None:
    assert len(list(points(["create", "write", "sync"]))) == 3 * len((*ERRORS, *CRASHES)) + 1
