"""A number of both commits, and whether it got worse."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from orfit_bench.tracking.metrics import METRICS
from orfit_bench.tracking.side import MissingError

Key = tuple[str, str, int]
"""Method, backend and features; "", "" and 0 for the package itself."""


class Finding(NamedTuple):
    """A number of both commits."""

    metric: str
    method: str
    backend: str
    features: int
    base: float
    head: float
    """NaN where a commit has no such number."""
    verdict: str
    """same, worse, better, gone, new or broken; n/a or failing where neither commit has a number."""
    note: str = ""

    @property
    def key(self) -> Key:
        """What was measured."""
        return self.method, self.backend, self.features

    @property
    def change(self) -> float:
        """(head - base) / base; NaN where there is no such number."""
        return (self.head - self.base) / self.base if self.base else math.nan

    @property
    def size(self) -> float:
        """How much larger the larger number is, as a share of the smaller; -1 where there are no two."""
        low, high = min(self.base, self.head), max(self.base, self.head)
        return high / low - 1 if 0 < low <= high else -1.0  # NaN is in no order

    @property
    def bad(self) -> bool:
        """Whether the gate is to stay shut."""
        return self.verdict in ("worse", "gone", "broken")


def settled(metric: str, key: Key, values: Sequence[Any], tolerated: Mapping[str, float]) -> Finding:
    """The finding of the two values, numbers or the errors in their place."""
    base, head = (value if isinstance(value, float) else math.nan for value in values)
    reasons = dict.fromkeys(str(value) for value in values if isinstance(value, Exception))
    return Finding(metric, *key, base, head, _verdict(metric, values, share(metric, tolerated)), "; ".join(reasons))


def share(metric: str, tolerated: Mapping[str, float]) -> float:
    """The change of a metric that is none."""
    return tolerated.get(metric, METRICS[metric].tolerated)


def _verdict(metric: str, values: Sequence[Any], tolerated: float) -> str:
    base, head = values
    if isinstance(head, Exception):
        missing = isinstance(head, MissingError)
        if isinstance(base, Exception):
            return "n/a" if missing and isinstance(base, MissingError) else "failing"
        return "gone" if missing else "broken"
    if isinstance(base, Exception):
        return "new"
    floor = METRICS[metric].floor
    if head > max((1 + tolerated) * base, floor):
        return "worse"
    return "better" if base > max((1 + tolerated) * head, floor) else "same"
