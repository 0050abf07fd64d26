"""The quantities that the gate compares, with their tolerances."""

from __future__ import annotations

from typing import NamedTuple

from orfit_bench.tracking.workloads import FLOOR


class TrackedQuantity(NamedTuple):
    """A quantity measured in a commit; larger is always worse."""

    name: str
    """The name of the measurement in `workloads`, and in tables."""
    unit: str
    tolerance: float
    """Relative change that is ignored."""
    floor: float = 0.0
    """Values up to this are considered equal."""


QUANTITIES = {
    metric.name: metric
    for metric in (
        TrackedQuantity("seconds_per_sample", "s", 0.1),
        TrackedQuantity("kernel_seconds_per_sample", "s", 0.1),
        TrackedQuantity("latency", "s", 0.2),
        TrackedQuantity("learn_one_seconds", "s", 0.2),
        TrackedQuantity("predict_one_seconds", "s", 0.2),
        TrackedQuantity("prediction_seconds", "s", 0.1),
        TrackedQuantity("import_seconds", "s", 0.2),
        TrackedQuantity("start_seconds", "s", 0.2),
        TrackedQuantity("peak_bytes", "B", 0.1),
        TrackedQuantity("state_bytes", "B", 0.01),
        TrackedQuantity("batch_deviation", "relative", 9.0, FLOOR),
        TrackedQuantity("frozen_deviation", "relative", 9.0, FLOOR),
    )
}
LEARNER_TIMES = {
    "chunk_seconds": ("seconds_per_sample", "kernel_seconds_per_sample"),
    "row_seconds": ("latency", "learn_one_seconds", "predict_one_seconds"),
    "prediction_seconds": ("prediction_seconds",),
}
"""The timings of a learner and their quantities; quantities of one timing are measured in the same calls."""
