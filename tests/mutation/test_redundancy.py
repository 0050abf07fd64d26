"""The count of checks that notice a mutant."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from helpers import redundancy

from orfit_bench.conformance.result import PlannedCheck
from orfit_bench.mutation.children import Timed
from orfit_bench.mutation.mutants import Mutant

CHECKS = [
    Timed(PlannedCheck(name, method, "numpy", "float64", 0), 0.0)
    for name in ("one_row", "row_by_row", "any_chunking")
    for method in ("lms", "rls")
]


@pytest.mark.parametrize(
    ("notice", "found"),
    [
        ((), []),
        (("row_by_row",), ["row_by_row"]),
        (("row_by_row", "any_chunking"), ["row_by_row", "any_chunking"]),
        (("one_row", "row_by_row", "any_chunking"), ["one_row", "row_by_row"]),
    ],
)
def test_a_check_counts_once_however_many_methods_it_judges(
    monkeypatch: pytest.MonkeyPatch, notice: Sequence[str], found: list[str]
) -> None:
    def judge(mutant: Mutant, checks: Sequence[Timed]) -> str:
        return next((timed.check.label for timed in checks if timed.check.check in notice), "")

    monkeypatch.setattr(redundancy, "first_to_notice", judge)
    assert redundancy.noticing(Mutant("kernel", 1, "+", "-", ""), CHECKS) == found


def test_a_mutant_that_cannot_be_imported_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redundancy, "first_to_notice", lambda mutant, checks: "the import")
    assert len(redundancy.noticing(Mutant("kernel", 1, "+", "-", ""), CHECKS)) == 2


def test_faults_are_counted() -> None:
    assert redundancy.faults() == "93 faults: 90 noticed by several checks, 3 by a single one"
