"""Numbers that tell how well a learner did: one file a metric.

A file is added to the catalogue by standing in METRICS below.
"""

from orfit_bench.catalogue.metrics import deviation, forgetting, speed, state_bytes, test_error

METRICS = tuple(m.METRIC for m in (speed, state_bytes, test_error, forgetting, deviation))

__all__ = ["METRICS"]
