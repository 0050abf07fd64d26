"""The failures of a run as messages: failures with the same cause are combined, and causes are listed first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from orfit_bench.conformance.check import FIRST, SMOKE, rank
from orfit_bench.conformance.result import FAILED, CheckResult

MAX_CONSEQUENCES = 5
"""Up to this number, failures are described one by one even if another failure may explain them."""
NUMBERS = re.compile(r"\d[\d.e+-]*")


@dataclass(frozen=True, slots=True)
class Failure:
    """Failed checks of a kernel that one message describes.

    Attributes
    ----------
    results : tuple of CheckResult
        The checks: a single check, one check in several dtypes, checks with the same cause, or possible consequences
        of another failure.
    are_consequences : bool
        Whether an earlier failure may explain them.
    """

    results: tuple[CheckResult, ...]
    are_consequences: bool = False

    def __str__(self) -> str:
        """The check with its reason, or the number of checks with their common cause, or their names."""
        first, names = self.results[0], dict.fromkeys(result.check for result in self.results)
        kernel = f"{first.method} on {first.backend}"
        if self.are_consequences:
            return f"{len(self.results)} further checks of {kernel}, perhaps as a consequence: {', '.join(names)}"
        if len(names) == 1:
            dtypes = ", ".join(dict.fromkeys(result.dtype for result in self.results))
            return f"{first.check} of {kernel} ({dtypes}): {first.reason}"
        return f"{len(self.results)} checks of {kernel}: {self.results[-1].cause}"

    @property
    def rank(self) -> int:
        """The place in the order in which failures are listed."""
        return len(FIRST) + 1 if self.are_consequences else min(rank(result.check) for result in self.results)


def failures(results: Iterable[CheckResult]) -> list[Failure]:
    """The failed checks, grouped by kernel and cause; failures that may explain others come first."""
    found: dict[tuple[str, ...], list[CheckResult]] = {}
    for result in results:
        if result.status == FAILED:
            found.setdefault((result.backend, result.method, *_key(result)), []).append(result)
    kernels: dict[tuple[str, str], list[Failure]] = {}
    for (backend, method, *_), same in found.items():
        kernels.setdefault((backend, method), []).append(Failure(tuple(same)))
    return sorted((one for of in kernels.values() for one in _shortened(of)), key=lambda one: one.rank)


def _key(result: CheckResult) -> tuple[str, ...]:
    """The key of the failures of one message: the cause, or the check and its reason without numbers."""
    cause = result.cause or (result.reason if result.check == SMOKE else "")
    return (cause,) if cause else (result.check, NUMBERS.sub("", result.reason))


def _shortened(failures: list[Failure]) -> Iterator[Failure]:
    """The failures of a kernel; if one may explain many others, those are combined."""
    others = [one for one in failures if one.rank == len(FIRST) and not one.results[0].cause]
    explained = any(one.rank < len(FIRST) for one in failures) and len(others) > MAX_CONSEQUENCES
    yield from (one for one in failures if not (explained and one in others))
    if explained:
        yield Failure(tuple(result for one in others for result in one.results), are_consequences=True)
