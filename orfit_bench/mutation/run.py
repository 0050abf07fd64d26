"""Judge all mutants of some code in parallel; each verdict is stored immediately, so that a killed run resumes."""

from __future__ import annotations

import hashlib
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from orfit_bench import __version__, conformance
from orfit_bench.jobs.journal import Journal
from orfit_bench.jobs.keys import make_key
from orfit_bench.mutation import children
from orfit_bench.mutation.children import Question, Timed
from orfit_bench.mutation.learner_code import is_learner_code
from orfit_bench.mutation.mutants import Mutant, make_mutants
from orfit_bench.mutation.processes import Child, temporary_files
from orfit_bench.mutation.sources import Source

Progress = Callable[[int, int, "MutantResult | None"], None]


@dataclass(frozen=True, slots=True)
class MutantResult:
    """The verdict on a mutant.

    Parameters
    ----------
    module, path, line
        The place of the change.
    before, after : str
        The line before and after the change.
    killed : bool
        Whether a check failed.
    check, reason : str
        The check that failed and its message; empty if the mutant survived.
    """

    module: str
    path: str
    line: int
    before: str
    after: str
    killed: bool
    check: str = ""
    reason: str = ""

    @property
    def place(self) -> str:
        """The file and the line."""
        return f"{self.path}:{self.line}"


class MutationReport(NamedTuple):
    """The verdicts in the order of the code, the number resumed from an earlier run, and the number of all mutants."""

    results: list[MutantResult]
    resumed: int
    total: int

    @property
    def survivors(self) -> list[MutantResult]:
        """The mutants that no check noticed."""
        return [one for one in self.results if not one.killed]

    @property
    def score(self) -> float:
        """Percentage of mutants that were killed; NaN without mutants."""
        return 100 * (1 - len(self.survivors) / len(self.results)) if self.results else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the percentage of all mutants, of which these are a sample."""
        n = len(self.results)
        return (self.score, self.score) if n == self.total else interval(n - len(self.survivors), n)


def interval(hits: int, n: int) -> tuple[float, float]:
    """The 95 % confidence interval (Wilson) of a percentage, from `hits` in a random sample of n."""
    share, z = hits / n, 1.96
    middle, half = share + z * z / (2 * n), z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return 100 * (middle - half) / (1 + z * z / n), 100 * (middle + half) / (1 + z * z / n)


@temporary_files()
def run_mutants(
    names: Sequence[str] = (),
    *,
    backends: Sequence[str] = (),
    dtypes: Sequence[str] = ("float64", "complex128"),
    modules: Sequence[str] = (),
    seed: int = 0,
    sample: int | None = None,
    workers: int = 2,
    output: Path = Path("mutants"),
    progress: Progress = lambda done, total, result: None,
) -> MutationReport:
    """Mutate kernels or learners, run the conformance kit on each mutant, and report which ones no check notices.

    Parameters
    ----------
    names : sequence of str
        Methods, backends, plugins or distributions, as for `conform`.
    backends : sequence of str
        Use only these backends.
    dtypes : sequence of {"float64", "float32", "complex128", "complex64"}
        The dtypes in which the kit runs, if a method supports them.
    modules : sequence of str
        Mutate only these modules; by default the modules of the kernels and the modules of the same package that they
        use. Modules and packages of the learner code that all kernels use are also possible, such as
        "orfit_bench.learners.rule".
    seed : int
        Seed of the data and the learners.
    sample : int, optional
        Judge only this number of mutants, chosen at random; a larger sample contains a smaller one. Default: all.
    workers : int
        Number of mutants that are judged at the same time.
    output : Path
        The verdicts are stored in the folder `output` with the suffix .journal.
    progress : callable
        Called as progress(done, total, result): first with the number of resumed verdicts and None, then after each
        verdict.

    Returns
    -------
    MutationReport

    Raises
    ------
    ValueError
        If nothing is selected, or the unchanged kernel fails a check.

    Notes
    -----
    Plugins must be installed, since every mutant is judged in a child process that imports them. This process must not
    have loaded them before.
    """
    question = Question(names, backends, dtypes, modules, seed)
    sources = children.find(question)
    if not sources:
        raise ValueError("no kernel is selected")
    mutants = {make_mutant_key(m, source, question): (m, source) for source in sources for m in make_mutants(source)}
    total = len(mutants)
    chosen = set(sorted(mutants)[: total if sample is None else sample])  # keys are digests: their order is random
    mutants = {key: item for key, item in mutants.items() if key in chosen}
    journal = Journal(output, {"orfit_bench": __version__})
    tests = digest_of_tests(sources)  # before the first verdict: files may change during the run
    kept = _read_results(journal, tests)
    done = {key: kept[key] for key in mutants if key in kept}
    resumed = len(done)
    progress(resumed, len(mutants), None)
    waiting = [(key, *item) for key, item in mutants.items() if key not in done]
    checks = children.measure(question) if waiting else []
    pool = _Pool(checks)
    try:
        while waiting or pool.running:
            while waiting and len(pool.running) < workers:
                pool.start(*waiting.pop(0))
            for key, result in pool.ended():
                journal.write({"key": key, "tests": tests, **asdict(result)})
                done[key] = result
                progress(len(done), len(mutants), result)
            time.sleep(0.01)
    finally:
        pool.kill()
    found = sorted((done[key] for key in mutants), key=lambda one: (one.module, one.line, one.after))
    return MutationReport(found, resumed, total)


class _Pool:
    """The mutants that are being judged; checks that killed often run first, then quick checks."""

    def __init__(self, checks: Sequence[Timed]) -> None:
        self._checks, self._kills = checks, Counter[str]()
        self.running: dict[str, tuple[Mutant, Source, Child]] = {}

    def start(self, key: str, mutant: Mutant, source: Source) -> None:
        chosen = [c for c in self._checks if (c.check.backend, c.check.method) in source.pairs]
        chosen.sort(key=lambda c: (-self._kills[c.check.label], c.seconds))
        self.running[key] = mutant, source, children.judge(mutant, chosen)

    def ended(self) -> list[tuple[str, MutantResult]]:
        found = []
        for key, (mutant, source, child) in list(self.running.items()):
            if (end := child.ended()) is not None:
                del self.running[key]
                killed, check, reason = children.verdict(*end)
                self._kills[check] += 1
                place = mutant.module, source.path, mutant.line
                found.append((key, MutantResult(*place, mutant.before, mutant.after, killed, check, reason[:300])))
        return found

    def kill(self) -> None:
        for _, _, child in self.running.values():
            child.kill()


def make_mutant_key(mutant: Mutant, source: Source, question: Question) -> str:
    """A key of the changed code and of the checks that judge it; for learner code, also of the kernels."""
    code = hashlib.sha256(mutant.code.encode()).hexdigest()
    judges = [sorted(source.pairs)] if is_learner_code(mutant.module) else []
    return make_key([mutant.module, code, sorted(question.dtypes), question.seed, *judges])


def digest_of_tests(sources: Sequence[Source]) -> str:
    """A key of all that decides the verdict besides the code: the kit and the files of the packages, including laws."""
    folders = {Path(source.path).parent for source in sources}
    kit = Path(conformance.__file__).parent
    files = sorted({*kit.rglob("*.py"), *(file for folder in folders for file in folder.glob("*.py"))})
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _read_results(journal: Journal, tests: str) -> dict[str, MutantResult]:
    """The verdicts of earlier runs. A survivor is judged again once the kit or another file has changed."""
    records: dict[str, dict[str, Any]] = journal.read()
    fields = tuple(MutantResult.__dataclass_fields__)
    return {
        key: MutantResult(**{name: record[name] for name in fields})
        for key, record in records.items()
        if record["killed"] or record["tests"] == tests
    }
