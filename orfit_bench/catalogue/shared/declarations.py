"""Fields and settings that several methods declare alike."""

from __future__ import annotations

from orfit_bench.spec.method import Field, Settings, Sizes
from orfit_bench.spec.setting import Setting

WEIGHTS = Field("w", ("parameter", "output"), "weights; on a linear model, one column per output")
BASIS = Field("basis", ("direction", "parameter"), "orthonormal rows that span the stored gradients", compared="span")
STEP_SIZE = Setting("step_size", "schedule", 0.001, "(0, inf)", "step size: a number or a schedule")
MEMORY = Setting(
    "memory", "integer", None, "[1, inf)", "maximum number of stored directions; None stores all of them", optional=True
)


def max_directions(settings: Settings, sizes: Sizes) -> int:
    """No more independent directions than parameters, nor than the memory."""
    memory = settings.get("memory")
    return sizes["parameter"] if memory is None else min(int(memory), sizes["parameter"])
