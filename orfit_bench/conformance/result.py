"""Results of one check, and of a run of the kit."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final, Literal

from orfit_bench.conformance.check import Deviation

Status = Literal["passed", "failed", "unproven", "expected failure", "skipped"]
Verdict = Literal["conforms", "fails", "unproven"]
PASSED: Final = "passed"
FAILED: Final = "failed"
UNPROVEN: Final = "unproven"
EXPECTED: Final = "expected failure"
SKIPPED: Final = "skipped"
LACKS: Final = "lacks"
"""The cause of a check that is skipped because the kernel lacks a feature; messages name the feature after the word."""
PROOF: Final = "wrong_numbers_are_noticed"
"""The check that tries laws on wrong learners."""
STATUSES: tuple[Status, ...] = (PASSED, FAILED, UNPROVEN, EXPECTED, SKIPPED)


@dataclass(frozen=True, slots=True)
class PlannedCheck:
    """One check of one method on one backend in one dtype, by names only, so that it can be sent to another process."""

    check: str
    method: str
    backend: str
    dtype: str
    seed: int

    @property
    def kernel(self) -> tuple[str, str, str]:
        """Backend, method and dtype."""
        return self.backend, self.method, self.dtype

    @property
    def label(self) -> str:
        """The name of the check in messages."""
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
        The subject of the check.
    device : str
        The device of the arrays of the backend, for example "cpu" or "cuda:0".
    status : {"passed", "failed", "unproven", "expected failure", "skipped"}
        The result.
    reason : str
        The reason for the status; empty if the check passed with every variant of the settings.
    deviation, bound : float or None
        The measured deviation that is largest relative to its bound; None if nothing was measured.
    cause : str
        The error that made it fail, equal for all checks with this error; empty if the check itself found a mistake.
        "lacks" if it was skipped because the kernel declares in LACKS that it does not support what is needed.
    """

    device: str
    status: Status
    reason: str
    deviation: float | None = None
    bound: float | None = None
    cause: str = ""

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
        """The result from the values of `to_dict`; None if the values are something else."""
        names = {f.name for f in fields(cls)}
        if not (names - MEASURED - {"cause"} | {"repeat"}) <= values.keys():
            return None
        return cls(**{"cause": ""} | {name: values[name] for name in names & values.keys()})


def _lacks(result: CheckResult, name: str) -> bool:
    """Whether a result states that the kernel lacks a capability."""
    return result.status in (PASSED, SKIPPED) and f"{LACKS} {name}" in result.reason


MEASURED = {"deviation", "bound"}


@dataclass(frozen=True, slots=True)
class Report:
    """The results of a run of the kit, and whether they are sufficient to call the learners conforming.

    Attributes
    ----------
    results : list of CheckResult
        In the order of the plan.
    capabilities : dict
        From (backend, method) to {capability: reason}; the reason is empty if the kernel supports the capability.
    problems : list of str
        Problems of the run as a whole, for example that fewer checks ran than planned.
    partial : bool
        Whether only some of the checks were selected.
    allow_unproven : bool
        Whether a run passes even if no law and no batch solution would notice wrong numbers.
    n_declared : int
        Number of streams, metrics, models and experiments that were checked against their declarations.
    """

    results: list[CheckResult]
    capabilities: dict[tuple[str, str], dict[str, str]]
    problems: list[str] = field(default_factory=list)
    partial: bool = False
    allow_unproven: bool = False
    n_declared: int = 0

    def __str__(self) -> str:
        """The verdict, the counts, the problems and the failures."""
        counts = ", ".join(f"{n} {status}" for status, n in self.counts.items())
        unproven = [f"{r.label}: {r.reason}" for r in self.results if r.status == UNPROVEN]
        left_out = [f"not supported: {line}" for line in self.unsupported() if line.endswith("checks)")]
        from orfit_bench.conformance.failures import failures

        failed = map(str, failures(self.results))
        notes = [f"note: {line}" for line in self.notes()]
        declared = f"; declarations checked: {self.n_declared}" if self.n_declared else ""
        return "\n".join([f"{self.verdict}: {counts}{declared}", *self.problems, *failed, *unproven, *left_out, *notes])

    def notes(self) -> Iterator[str]:
        """The notes of passed checks about laws that prove nothing, once for each method."""
        found = [r for r in self.results if r.check == PROOF and r.status == PASSED and r.reason]
        yield from dict.fromkeys(f"{r.method}: {r.reason}" for r in found)

    def unsupported(self) -> Iterator[str]:
        """The features that kernels declare to lack, with the reason and the number of omitted checks."""
        ran = {result.backend for result in self.results if result.status != SKIPPED}
        for (backend, method), reasons in self.capabilities.items():
            if backend not in ran or reasons.get("rows"):  # a kernel that cannot be loaded fails with that reason
                continue
            for name, reason in reasons.items():
                if reason:
                    n = sum((r.backend, r.method) == (backend, method) and _lacks(r, name) for r in self.results)
                    counted = f" (left out of {n} checks)" if n else ""
                    yield f"{name} of {method} on {backend}: {reason}{counted}"

    @property
    def verdict(self) -> Verdict:
        """Whether the learners conform: "fails" if a check failed or the run as a whole has a problem;
        "unproven" if everything passed, but wrong numbers of one of the methods would not be noticed.
        """
        if self.problems or any(r.status == FAILED for r in self.results):
            return "fails"
        return "unproven" if any(r.status == UNPROVEN for r in self.results) else "conforms"

    @property
    def passed(self) -> bool:
        """Whether the verdict is "conforms", or "unproven" if that is allowed."""
        return self.verdict == "conforms" or (self.verdict == "unproven" and self.allow_unproven)

    @property
    def counts(self) -> dict[Status, int]:
        """Number of results by status."""
        found = Counter(r.status for r in self.results)
        return {status: found[status] for status in STATUSES}
