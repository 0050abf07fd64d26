"""The metrics of the package: numbers that measure the quality, speed or memory of a learner.

A module of this package defines one metric, `METRIC`, or several related metrics, `METRICS`.
"""

from __future__ import annotations

from orfit_bench.catalogue.shared.modules import declared
from orfit_bench.spec.metric import Metric

METRICS: tuple[Metric, ...] = declared(Metric, __name__, __path__)
"""Every metric of the catalogue, ordered by module."""

__all__ = ["METRICS"]
