"""Which checks run the statement that a mutant changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.lines_run import checks_that_run, statement_lines

from orfit_bench.conformance.result import PlannedCheck
from orfit_bench.mutation.children import Timed
from orfit_bench.mutation.mutants import Mutant
from orfit_bench.mutation.sources import Source

CODE = '''"""Two functions."""
LIMIT = 3


def first(x):
    if (x > 0 and
            x < LIMIT):
        return [
            x,
        ]
    return None


class Place:
    size = 4

    def second(self):
        return self.size
'''
CHECKS = [Timed(PlannedCheck(name, "lms", "numpy", "float64", 0), 0.0) for name in ("one_row", "row_by_row")]


@pytest.fixture
def source(tmp_path: Path) -> Source:
    path = tmp_path / "code.py"
    path.write_text(CODE)
    return Source("orfit_bench.learners.rule", str(path), [(1, 20)], [])


def test_a_line_stands_for_its_statement_and_for_the_head_of_a_compound_one(source: Source) -> None:
    lines = statement_lines(source.path)
    assert lines[6] == lines[7] == {6, 7}
    assert lines[8] == lines[9] == lines[10] == {8, 9, 10}
    assert lines[18] == {18}
    assert not {2, 5, 15} & set(lines)


def test_only_checks_that_run_the_statement_judge_it(source: Source) -> None:
    one_row, row_by_row = CHECKS
    run = {one_row.check.label: {source.path: [6, 9]}, row_by_row.check.label: {source.path: [6, 11]}}

    def judges(line: int, module: str = source.module) -> list[Timed]:
        return checks_that_run(Mutant(module, line, "", "", ""), source, CHECKS, run)

    assert judges(7) == CHECKS
    assert judges(8) == [one_row]
    assert judges(11) == [row_by_row]
    assert judges(18) == []
    assert judges(2) == CHECKS  # at the import, before any check
    assert judges(18, "orfit_bench_numba.rls") == CHECKS  # compiled code cannot be followed
