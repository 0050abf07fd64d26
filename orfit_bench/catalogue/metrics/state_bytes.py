"""Memory of the state."""

from orfit_bench.spec.metric import Metric, Record


def measure(record: Record) -> float:
    """Bytes of the arrays in use after the last row."""
    return float(record.learner.state_bytes)


METRIC = Metric(
    name="state_bytes",
    unit="B",
    summary="bytes of the state's arrays, at the end",
    formula="sum of the bytes of all fields",
    source="the state",
    better="lower",
    measure=measure,
)
