"""Peak memory while learning."""

from orfit_bench.spec.metric import Metric, Record

SMALL = 2.0**16
"""Bytes of memory below which a difference can come from Python's own objects."""


def host(record: Record) -> float:
    """Peak of the memory allocated by Python and NumPy, measured in a separate pass."""
    return record.host_bytes


def device(record: Record) -> float | None:
    """Peak of device memory; None if the backend has no device."""
    return record.device_bytes


METRICS = (
    Metric(
        name="host_memory",
        unit="B",
        summary="peak memory of Python and NumPy, without data",
        formula="largest traced size during one pass - traced size before the learners were created",
        source="tracemalloc, in a pass that is not timed; independent of imports and the page cache",
        better="lower",
        measure=host,
        tolerated=0.05,
        floor=SMALL,
    ),
    Metric(
        name="device_memory",
        unit="B",
        summary="peak device memory; none on the CPU",
        formula="the backend's memory() after one pass that began with memory()",
        source="the backend",
        better="lower",
        measure=device,
        tolerated=0.05,
    ),
)
