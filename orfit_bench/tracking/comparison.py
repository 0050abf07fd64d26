"""Comparison of one quantity between two commits, and its verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from orfit_bench.tracking.commit_process import MissingError
from orfit_bench.tracking.quantities import QUANTITIES

Key = tuple[str, str, int]
"""Method, backend and number of features; "", "" and 0 for quantities of the package."""
Verdict = Literal["same", "worse", "better", "gone", "new", "broken", "failing", "n/a"]
"""gone, new: only one commit has the method; broken: only the head fails; failing: both fail; n/a: neither has it."""
METHOD = "method"
"""The metric of a comparison that states whether both commits have a method."""
REGRESSIONS: tuple[Verdict, ...] = ("worse", "gone", "broken")


class Comparison(NamedTuple):
    """The values of one quantity in both commits."""

    metric: str
    method: str
    backend: str
    features: int
    base: float
    head: float
    """NaN if a commit has no value."""
    verdict: Verdict
    note: str = ""

    @property
    def key(self) -> Key:
        """The key of the measurement."""
        return self.method, self.backend, self.features

    @property
    def change(self) -> float:
        """(head - base) / base; NaN if a value is missing."""
        return (self.head - self.base) / self.base if self.base else math.nan

    @property
    def size(self) -> float:
        """The larger value relative to the smaller one, minus 1; -1 if a value is missing or zero."""
        low, high = min(self.base, self.head), max(self.base, self.head)
        return high / low - 1 if 0 < low <= high else -1.0  # comparisons with NaN are false

    @property
    def is_regression(self) -> bool:
        """Whether the gate fails."""
        return self.verdict in REGRESSIONS


def classify(metric: str, key: Key, answers: Sequence[Any], tolerated: Mapping[str, float]) -> Comparison:
    """Compare the answers of base and head: each is a number, or the error that replaced it."""
    base, head = (answer if isinstance(answer, float) else math.nan for answer in answers)
    reasons = dict.fromkeys(str(answer) for answer in answers if isinstance(answer, Exception))
    verdict = _verdict(metric, answers, tolerance_of(metric, tolerated))
    return Comparison(metric, *key, base, head, verdict, "; ".join(reasons))


def tolerance_of(metric: str, tolerated: Mapping[str, float]) -> float:
    """Return the relative change of a quantity that is ignored."""
    return tolerated.get(metric, QUANTITIES[metric].tolerance)


def _verdict(metric: str, answers: Sequence[Any], tolerance: float) -> Verdict:
    base, head = answers
    if isinstance(head, Exception):
        missing = isinstance(head, MissingError)
        if isinstance(base, Exception):
            return "n/a" if missing and isinstance(base, MissingError) else "failing"
        return "gone" if missing else "broken"
    if isinstance(base, Exception):
        return "new"
    floor = QUANTITIES[metric].floor
    if head > max((1 + tolerance) * base, floor):
        return "worse"
    return "better" if base > max((1 + tolerance) * head, floor) else "same"
