"""The count of checks that notice a mutant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from faults.fault import FAULTS
from helpers import redundancy
from helpers.redundancy import IMPORT, NOT_RUN, Trial, after, known_verdicts, summary

from orfit_bench.conformance.result import PlannedCheck
from orfit_bench.jobs.journal import Journal
from orfit_bench.mutation.children import Timed
from orfit_bench.mutation.mutants import Mutant

CHECKS = [
    Timed(PlannedCheck(name, method, "numpy", "float64", 0), 0.0)
    for name in ("one_row", "row_by_row", "any_chunking")
    for method in ("lms", "rls")
]


class Noticed:
    """A child process in which the first check with one of some names notices a mutant."""

    def __init__(self, names: Sequence[str], checks: Sequence[Timed]) -> None:
        self._label = next((timed.check.label for timed in checks if timed.check.check in names), "")

    def ended(self) -> tuple[str, int]:
        killed = f'{{"killed": "{self._label}", "reason": ""}}' if self._label else '{"survived": 1}'
        return killed, 0


@pytest.mark.parametrize(
    ("notice", "found"),
    [
        ((), []),
        (("row_by_row",), ["row_by_row"]),
        (("any_chunking",), ["any_chunking"]),
        (("row_by_row", "any_chunking"), ["row_by_row", "any_chunking"]),
        (("one_row", "row_by_row", "any_chunking"), ["one_row", "row_by_row"]),
    ],
)
def test_a_check_counts_once_however_many_methods_it_judges(
    monkeypatch: pytest.MonkeyPatch, notice: Sequence[str], found: list[str]
) -> None:
    monkeypatch.setattr(redundancy.children, "judge", lambda mutant, checks: Noticed(notice, checks))
    trial = Trial(Mutant("kernel", 1, "+", "-", ""), CHECKS)
    while not trial.ended():
        pass
    assert trial.names == found


def test_checks_that_passed_are_not_run_again() -> None:
    names, rest = after("row_by_row of lms on numpy (float64)", [], CHECKS)
    assert names == ["row_by_row"]
    assert [timed.check.check for timed in rest] == ["any_chunking"] * 2


def test_a_mutant_that_cannot_be_imported_is_noticed() -> None:
    assert after("the import", [], CHECKS) == ([IMPORT] * 2, [])


def test_changed_checks_judge_again_what_few_noticed(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "redundancy", {})
    verdicts = {"a": ["one_row"], "b": ["one_row", "row_by_row"], "c": []}
    for key, names in verdicts.items():
        journal.write({"key": key, "names": names, "tests": "old"})
    assert known_verdicts(journal, "old") == verdicts
    assert known_verdicts(journal, "new") == {"b": verdicts["b"]}


def test_the_summary_has_an_interval_for_all_mutants() -> None:
    text = summary(Counter({2: 45, 1: 2, 0: 3, NOT_RUN: 7}), 900)
    assert text.startswith("57 of 900 mutants: 45 noticed by two checks, 2 by one, 3 by none, 7 run by no check")
    assert "by two: 90 % of those that are run" in text
    assert text.endswith("79 to 96 %")
    assert summary(Counter({2: 4}), 4).endswith("100 to 100 %")
    assert summary(Counter({NOT_RUN: 2}), 4) == "2 mutants: no check runs what they change"


def test_faults_are_counted() -> None:
    counted, n = redundancy.faults(), len(FAULTS)  # counting them imports them
    assert n > 100
    assert counted == f"{n} faults: {n} noticed by several checks, 0 by a single one"
