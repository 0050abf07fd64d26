"""Numbers that tell how well a learner did: one file a metric, or a pair of them.

A file is added to the catalogue by standing in METRICS below.
"""

from orfit_bench.catalogue.metrics import (
    a_priori_error,
    backward_transfer,
    compression_loss,
    deviation,
    deviation_p,
    excess_loss,
    forgetting,
    latency,
    mean_squared_error,
    memory,
    regret,
    speed,
    state_bytes,
    test_error,
)

METRICS = (
    test_error.METRIC,
    mean_squared_error.METRIC,
    a_priori_error.METRIC,
    regret.METRIC,
    forgetting.METRIC,
    backward_transfer.METRIC,
    compression_loss.METRIC,
    excess_loss.METRIC,
    deviation.METRIC,
    deviation_p.METRIC,
    *speed.METRICS,
    *latency.METRICS,
    *memory.METRICS,
    state_bytes.METRIC,
)

__all__ = ["METRICS"]
