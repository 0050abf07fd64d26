"""How many checks of the kit notice a fault: those of tests/faults, and mutants of kernels or of learner code.

`python3 dev.py redundancy lms rls --backend numba --mutants 40` judges mutants of the kernels of these methods, drawn
at random: by all checks until one notices it, then by the others until a second one does. `--module
orfit_bench.learners.rule` (which may be repeated, and may be a package) judges mutants of learner code by the checks of
these methods that run the changed statement. Verdicts are kept in the folder redundancy.journal, from which the next
run resumes.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from helpers.lines_run import LinesRun, checks_that_run, measure_lines

from orfit_bench import __version__
from orfit_bench.jobs.journal import Journal
from orfit_bench.mutation import children
from orfit_bench.mutation.children import Question, Timed
from orfit_bench.mutation.learner_code import is_learner_code
from orfit_bench.mutation.mutants import Mutant, make_mutants
from orfit_bench.mutation.run import digest_of_tests, interval, make_mutant_key
from orfit_bench.mutation.sources import Source

WANTED = 2
"""Number of different checks that should notice a mutant."""
IMPORT = "import"
"""Name used if the import of a mutant fails, so that no check needs to notice it."""
NOT_RUN = "not run"
"""Name used for a mutant that no check runs, which says nothing about the checks."""


class Drawn(NamedTuple):
    """A mutant of the sample, its file and its key in the journal."""

    mutant: Mutant
    source: Source
    key: str


class Trial:
    """A mutant that is judged by one child process after another, until two different checks have noticed it."""

    def __init__(self, mutant: Mutant, checks: Sequence[Timed]) -> None:
        self.names: list[str] = []
        """The checks that have noticed it."""
        self._mutant, self._checks = mutant, checks
        self._child = children.judge(mutant, checks)

    def ended(self) -> bool:
        """Whether all checks have been tried; starts the next child process if one has ended."""
        if (end := self._child.ended()) is None:
            return False
        label = children.verdict(*end)[1]
        self.names, self._checks = after(label, self.names, self._checks)
        if not (label and self._checks and len(self.names) < WANTED):
            return True
        self._child = children.judge(self._mutant, self._checks)
        return False

    def kill(self) -> None:
        """End the child process."""
        self._child.kill()


def after(label: str, names: Sequence[str], checks: Sequence[Timed]) -> tuple[list[str], list[Timed]]:
    """The checks that have noticed a mutant, including the one with this label, and those that remain to be run.

    The checks before it passed and are not run again; neither is the same check with other methods.
    """
    if not label:
        return list(names), []
    place = next((i for i, timed in enumerate(checks) if timed.check.label == label), None)
    if place is None:
        return [IMPORT] * WANTED, []
    name = checks[place].check.check
    return [*names, name], [timed for timed in checks[place + 1 :] if timed.check.check != name]


def judge_all(
    drawn: Sequence[Drawn], checks: Sequence[Timed], lines: LinesRun, workers: int
) -> Iterator[tuple[Drawn, list[str]]]:
    """The names of the checks that notice each mutant, at most two, in the order in which they are known."""
    waiting, running, kills = list(drawn), dict[str, tuple[Drawn, Trial]](), Counter[str]()
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                one = waiting.pop(0)
                own = [timed for timed in checks if (timed.check.backend, timed.check.method) in one.source.pairs]
                own = checks_that_run(one.mutant, one.source, own, lines)
                if not own:
                    yield one, [NOT_RUN]
                    continue
                own.sort(key=lambda timed: (-kills[timed.check.check], timed.seconds))
                running[one.key] = one, Trial(one.mutant, own)
            for key, (one, trial) in list(running.items()):
                if trial.ended():
                    del running[key]
                    kills.update(trial.names)
                    yield one, trial.names
            time.sleep(0.01)
    finally:
        for _, trial in running.values():
            trial.kill()


def draw(question: Question, sources: Sequence[Source], n: int) -> tuple[list[Drawn], int]:
    """A random sample of the mutants, and the number of all."""
    mutants = [(mutant, source) for source in sources for mutant in make_mutants(source)]
    sample = random.Random(question.seed).sample(mutants, min(n, len(mutants)))
    return [Drawn(mutant, source, make_mutant_key(mutant, source, question)) for mutant, source in sample], len(mutants)


def known_verdicts(journal: Journal, tests: str) -> dict[str, list[str]]:
    """The verdicts of earlier runs; a mutant that few checks noticed is judged again once the checks have changed."""
    records: dict[str, dict[str, Any]] = journal.read()
    return {
        key: record["names"]
        for key, record in records.items()
        if len(record["names"]) >= WANTED or record["tests"] == tests
    }


def run(question: Question, n: int, workers: int, output: Path) -> str:
    """Judge a sample, print each mutant that fewer than two checks notice, and return the counts."""
    sources = children.find(question)
    drawn, total = draw(question, sources, n)
    journal, tests = Journal(output, {"orfit_bench": __version__}), digest_of_tests(sources)
    kept = known_verdicts(journal, tests)
    found = [(one, kept[one.key]) for one in drawn if one.key in kept]
    waiting = [one for one in drawn if one.key not in kept]
    for one, names in found:
        report(one.mutant, names)
    checks = children.measure(question) if waiting else []
    paths = [source.path for source in sources if is_learner_code(source.module)]
    lines = measure_lines(question, paths, workers) if waiting and paths else {}
    for one, names in judge_all(waiting, checks, lines, workers):
        journal.write({"key": one.key, "names": names, "tests": tests})
        found.append((one, names))
        report(one.mutant, names)
    return summary(Counter(NOT_RUN if names == [NOT_RUN] else len(names) for _, names in found), total)


def report(mutant: Mutant, names: Sequence[str]) -> None:
    """Print a mutant that fewer than two checks notice."""
    if len(names) < WANTED:
        noticed = names[0] if names else "no check"
        print(f"{mutant.module}:{mutant.line}: {mutant.before} -> {mutant.after}: {noticed}", flush=True)


def summary(counts: Counter[int | str], total: int) -> str:
    """The counts of mutants noticed by two checks, one and none, with an interval for all mutants that are run."""
    n, unused = counts.total(), counts[NOT_RUN]
    if n == unused:
        return f"{n} mutants: no check runs what they change"
    run = n - unused
    low, high = interval(counts[WANTED], run) if n < total else (100 * counts[WANTED] / run,) * 2
    return (
        f"{n} of {total} mutants: {counts[2]} noticed by two checks, {counts[1]} by one, {counts[0]} by none, {unused} "
        f"run by no check; by two: {100 * counts[2] / run:.0f} % of those that are run, of all that are, with 95 % "
        f"confidence, {low:.0f} to {high:.0f} %"
    )


def faults() -> str:
    """The number of faults in tests/faults by the number of checks that notice them."""
    from faults.fault import FAULTS  # loads the plugins, after which mutants cannot be judged

    counts = Counter(len(fault.noticed_by) > 1 for fault in FAULTS.values())
    return f"{counts.total()} faults: {counts[True]} noticed by several checks, {counts[False]} by a single one"


def main() -> int:
    """Judge a sample of mutants, and print how many checks notice each."""
    parser = argparse.ArgumentParser(
        prog="dev.py redundancy", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("methods", nargs="*", default=["lms", "rls"])
    parser.add_argument("--backend", default="numpy", help="the backend whose kernels judge, or are judged")
    parser.add_argument("--module", action="append", default=[], help="change only this module")
    parser.add_argument("--mutants", type=int, default=40, help="number of mutants, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="seed of the sample and of the rows")
    parser.add_argument("--workers", type=int, default=2, help="number of mutants that are judged at the same time")
    parser.add_argument("--output", type=Path, default=Path("redundancy"), help="verdicts are kept in OUTPUT.journal")
    chosen = parser.parse_args()
    question = Question(chosen.methods, [chosen.backend], ["float64"], chosen.module, chosen.seed)
    try:
        print(run(question, chosen.mutants, chosen.workers, chosen.output))
    except ValueError as error:
        parser.error(str(error))
    print(faults())
    return 0


if __name__ == "__main__":
    sys.exit(main())
