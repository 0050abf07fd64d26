"""Which checks run which lines of learner code, measured by coverage.py: no other check can notice a change there."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path

import coverage

from orfit_bench.conformance.result import PlannedCheck
from orfit_bench.conformance.runner import run_check
from orfit_bench.mutation import children
from orfit_bench.mutation.children import Question, Timed
from orfit_bench.mutation.learner_code import is_learner_code
from orfit_bench.mutation.mutants import Mutant
from orfit_bench.mutation.processes import Say, fork
from orfit_bench.mutation.sources import Source

LinesRun = Mapping[str, Mapping[str, Collection[int]]]
"""For each label of a check, the lines that it runs in each file."""


def measure_lines(question: Question, paths: Sequence[str], workers: int) -> LinesRun:
    """The lines of these files that each check runs, in separate processes, so that nothing is cached.

    Results computed while planning are cached, so lines that run then count for every check.
    """

    def work(say: Say, folder: Path, worker: int) -> None:
        with _measured(paths) as of_plan:
            checks = children.plan(question)
        for check in checks[worker::workers]:
            own = children.answers(fork(partial(judge, check=check)))[0]
            say([check.label, {path: sorted({*own[path], *of_plan[path]}) for path in paths}])

    def judge(say: Say, folder: Path, check: PlannedCheck) -> None:
        with _measured(paths) as lines:
            run_check(check)
        say(lines)

    started = [fork(partial(work, worker=worker)) for worker in range(workers)]
    return {label: lines for child in started for label, lines in children.answers(child)}


@contextmanager
def _measured(paths: Sequence[str]) -> Iterator[dict[str, list[int]]]:
    """The lines of these files that the block runs; complete when the block ends."""
    lines: dict[str, list[int]] = {}
    measured = coverage.Coverage(data_file=None, include=list(paths), config_file=False)
    measured.start()
    try:
        yield lines
    finally:
        measured.stop()
        found = measured.get_data()
        lines |= {path: sorted(found.lines(path) or []) for path in paths}


def checks_that_run(mutant: Mutant, source: Source, checks: Sequence[Timed], run: LinesRun) -> list[Timed]:
    """Those checks that run the changed statement; all of them if it runs at the import, or was not measured."""
    if not is_learner_code(mutant.module):
        return list(checks)
    lines = statement_lines(source.path).get(mutant.line)
    if lines is None:
        return list(checks)
    return [timed for timed in checks if not lines.isdisjoint(run[timed.check.label].get(source.path, ()))]


@cache
def statement_lines(path: str) -> dict[int, frozenset[int]]:
    """For each line in a function, the lines of its innermost statement; for a compound one only its header."""
    found: dict[int, frozenset[int]] = {}
    for function in ast.walk(ast.parse(Path(path).read_text(encoding="utf-8"))):
        if isinstance(function, ast.FunctionDef):
            body = [inner for outer in function.body for inner in ast.walk(outer)]
            for statement in [inner for inner in body if isinstance(inner, ast.stmt)]:
                inner = getattr(statement, "body", None)
                last = inner[0].lineno - 1 if inner else statement.end_lineno or statement.lineno
                lines = frozenset(range(statement.lineno, max(last, statement.lineno) + 1))
                found |= dict.fromkeys(lines, lines)
    return found
