"""What the gate compares, and from where on a difference is one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from orfit_bench.errors import suggest
from orfit_bench.tracking.workloads import FLOOR


class Tracked(NamedTuple):
    """A number of a commit; more is always worse."""

    name: str
    """Of the measure in `workloads`, and in every table."""
    unit: str
    tolerated: float
    """Change that is none, as a share of the number before."""
    floor: float = 0.0
    """Numbers up to this count as equal."""
    timed: bool = False
    """Whether it is a time, which the machine blurs: measured in turns, and again before it counts as worse."""


METRICS = {
    metric.name: metric
    for metric in (
        Tracked("seconds_per_sample", "s", 0.3, timed=True),
        Tracked("kernel_seconds_per_sample", "s", 0.3, timed=True),
        Tracked("latency", "s", 0.5, timed=True),
        Tracked("import_seconds", "s", 0.3, timed=True),
        Tracked("start_seconds", "s", 0.3, timed=True),
        Tracked("peak_bytes", "B", 0.1),
        Tracked("state_bytes", "B", 0.01),
        Tracked("batch_deviation", "relative", 9.0, FLOOR),
        Tracked("frozen_deviation", "relative", 9.0, FLOOR),
    )
}
OF_LEARNERS = ("seconds_per_sample", "kernel_seconds_per_sample", "latency")


def tolerances(texts: Sequence[str]) -> dict[str, float]:
    """METRIC=SHARE as numbers; ValueError for a name that is no metric or a share that is no number >= 0."""
    found = {}
    for text in texts:
        name, _, share = (part.strip() for part in text.partition("="))
        if name not in METRICS:
            raise ValueError(f"--tolerate {text}: no metric {name!r}{suggest(name, METRICS)}")
        try:
            found[name] = float(share)
        except ValueError:
            found[name] = math.nan
        if not found[name] >= 0:
            raise ValueError(f"--tolerate {text}: want METRIC=SHARE, a relative change >= 0, as in latency=0.5")
    return found
