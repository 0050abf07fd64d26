"""What became of one check of one learner, and of all of them."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from orfit_bench.conformance.check import Gap

if TYPE_CHECKING:
    from orfit_bench.conformance.plan import Item

PASSED, FAILED, EXPECTED, SKIPPED = STATUSES = ("passed", "failed", "expected failure", "skipped")


@dataclass(frozen=True, slots=True)
class Record:
    """One check of one method on one backend in one dtype."""

    check: str
    method: str
    backend: str
    device: str
    dtype: str
    seed: int
    status: str
    """One of STATUSES."""
    reason: str
    deviation: float | None
    """The largest that was measured, beside its bound; None where the rule is kept or broken to the bit."""
    bound: float | None

    @property
    def ratio(self) -> float | None:
        """Deviation over bound, where something was measured."""
        return None if self.deviation is None or self.bound is None else Gap(self.deviation, self.bound).ratio

    @property
    def repeat(self) -> str:
        """The command that repeats exactly this check."""
        where = ["--backend", self.backend, "--dtype", self.dtype, "--seed", str(self.seed), "--check", self.check]
        return shlex.join(["orfit-bench", "conform", self.method, *where])


@dataclass(frozen=True, slots=True)
class Report:
    """All records of a run, and whether they are enough to say that a learner conforms."""

    records: list[Record]
    capabilities: dict[tuple[str, str], dict[str, str]]
    """(backend, method) to all that the method allows: empty where the kernel offers it, else why it does not."""
    problems: list[str] = field(default_factory=list)
    """What is wrong with the run as a whole: nothing ran, too little ran, an expectation that names no check."""
    partial: bool = False
    """Whether only some checks were asked for."""

    def __str__(self) -> str:
        """The verdict, the counts, and what is wrong."""
        counts = ", ".join(f"{n} {status}" for status, n in self.counts.items())
        wrong = [f"{where(r)}: {r.reason}" for r in self.records if r.status == FAILED]
        return "\n".join([f"{'passed' if self.passed else 'failed'}: {counts}", *self.problems, *wrong])

    @property
    def passed(self) -> bool:
        """Whether every check passed, or failed as expected, and enough of them ran."""
        return not self.problems and not any(r.status == FAILED for r in self.records)

    @property
    def counts(self) -> dict[str, int]:
        """Records by status."""
        found = Counter(r.status for r in self.records)
        return {status: found[status] for status in STATUSES}


def where(one: Record | Item) -> str:
    """Which check it is of, as every text names it."""
    return f"{one.check} of {one.method} on {one.backend} ({one.dtype})"
