"""The metrics that ship: numbers that measure the quality, the speed or the memory of a learner.

A module of this package defines one metric, `METRIC`, or a few that belong together, `METRICS`.
"""

from __future__ import annotations

from orfit_bench.catalogue.shared.modules import declared
from orfit_bench.spec.metric import Metric

METRICS: tuple[Metric, ...] = declared(Metric, __name__, __path__)
"""Every metric of the catalogue, ordered by module."""

__all__ = ["METRICS"]
