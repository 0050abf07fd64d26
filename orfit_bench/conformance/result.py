"""Results: of one check, and of a run of the kit."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final, Literal

from orfit_bench.conformance.check import Deviation

Status = Literal["passed", "failed", "expected failure", "skipped"]
PASSED: Final = "passed"
FAILED: Final = "failed"
EXPECTED: Final = "expected failure"
SKIPPED: Final = "skipped"
STATUSES: tuple[Status, ...] = (PASSED, FAILED, EXPECTED, SKIPPED)


@dataclass(frozen=True, slots=True)
class PlannedCheck:
    """One check of one method on one backend in one dtype, by names only, so that it can go to another process."""

    check: str
    method: str
    backend: str
    dtype: str
    seed: int

    @property
    def label(self) -> str:
        """The check as messages name it."""
        return f"{self.check} of {self.method} on {self.backend} ({self.dtype})"

    @property
    def repeat(self) -> str:
        """The command that repeats exactly this check."""
        where = ["--backend", self.backend, "--dtype", self.dtype, "--seed", str(self.seed), "--check", self.check]
        return shlex.join(["orfit-bench", "conform", self.method, *where])


@dataclass(frozen=True, slots=True)
class CheckResult(PlannedCheck):
    """The result of one check.

    Attributes
    ----------
    check, method, backend, dtype, seed
        What was checked.
    device : str
        Where the arrays of the backend are, for example "cpu" or "cuda:0".
    status : {"passed", "failed", "expected failure", "skipped"}
        The result.
    reason : str
        Why it is so; empty if the check passed with every variant of the settings.
    deviation, bound : float or None
        The measured deviation that is largest relative to its bound; None if nothing was measured.
    """

    device: str
    status: Status
    reason: str
    deviation: float | None = None
    bound: float | None = None

    @property
    def ratio(self) -> float | None:
        """Deviation divided by its bound; None if nothing was measured."""
        return None if self.deviation is None or self.bound is None else Deviation(self.deviation, self.bound).ratio

    def to_dict(self) -> dict[str, Any]:
        """The fields and the command that repeats the check, as plain values: for JSON, and for reports of pytest."""
        plain = {name: float(v) if name in MEASURED and v is not None else v for name, v in asdict(self).items()}
        return plain | {"repeat": self.repeat}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> CheckResult | None:
        """The result that `to_dict` wrote; None if the values are something else."""
        names = {f.name for f in fields(cls)}
        if not (names - MEASURED | {"repeat"}) <= values.keys():
            return None
        return cls(**{name: values.get(name) for name in names})  # type: ignore[arg-type]


MEASURED = {"deviation", "bound"}


@dataclass(frozen=True, slots=True)
class Report:
    """The results of a run of the kit, and whether they are sufficient to call the learners conforming.

    Attributes
    ----------
    results : list of CheckResult
        In the order of the plan.
    capabilities : dict
        (backend, method) to {capability: reason}: an empty reason if the kernel supports it, else why it does not.
    problems : list of str
        What is wrong with the run as a whole, for example that fewer checks ran than planned.
    partial : bool
        Whether only some of the checks were selected.
    """

    results: list[CheckResult]
    capabilities: dict[tuple[str, str], dict[str, str]]
    problems: list[str] = field(default_factory=list)
    partial: bool = False

    def __str__(self) -> str:
        """The verdict, the counts, the problems and the failures."""
        counts = ", ".join(f"{n} {status}" for status, n in self.counts.items())
        failures = [f"{r.label}: {r.reason}" for r in self.results if r.status == FAILED]
        return "\n".join([f"{'passed' if self.passed else 'failed'}: {counts}", *self.problems, *failures])

    @property
    def passed(self) -> bool:
        """Whether every check passed or failed as expected, and nothing is wrong with the run as a whole."""
        return not self.problems and not any(r.status == FAILED for r in self.results)

    @property
    def counts(self) -> dict[Status, int]:
        """Number of results by status."""
        found = Counter(r.status for r in self.results)
        return {status: found[status] for status in STATUSES}
