"""Fields and settings that several methods share."""

from __future__ import annotations

import math

from orfit_bench.spec import Field, Integer, NumberOrSchedule, PrecisionWarning, Setting, Settings, Sizes

WEIGHTS = Field("w", ("parameter", "output"), "weights; on a linear model, one column per output", role="weights")
BASIS = Field(
    "basis",
    ("direction", "parameter"),
    "orthonormal rows that span the stored gradients",
    compared="span",
    role="basis",
)
STEP_SIZE = Setting("step_size", NumberOrSchedule(0, closed="neither"), 0.001, "step size: a number or a schedule")
MEMORY = Setting(
    "memory", Integer(1), None, "maximum number of stored directions; None stores all of them", optional=True
)


def remembered_steps(settings: Settings) -> float:
    """The sum of the weights ff^i of past steps, for a forgetting factor ff."""
    ff: float = settings["forgetting_factor"]
    return math.inf if ff == 1 else 1 / abs(1 - ff)


P_LOSES_PRECISION = PrecisionWarning(
    "precision_lost",
    "half of the digits of P are lost: P grows in directions that the rows rarely excite (wind-up), the rows are "
    "large compared with the prior, columns are sums of others (as with one column for each value of a category "
    "and an intercept), or a million rows were learned in float32 without forgetting. Remedies: a forgetting factor "
    "nearer 1, a larger ridge, fewer features, scaled data, dtype='float64'",
    remembered_steps,
)


def max_directions(settings: Settings, sizes: Sizes) -> int:
    """The largest number of independent directions: the number of parameters or the memory, whichever is smaller."""
    memory = settings.get("memory")
    return sizes["parameter"] if memory is None else min(int(memory), sizes["parameter"])
