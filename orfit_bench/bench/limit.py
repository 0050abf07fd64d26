"""The largest throughput that the machine allows a learner, in samples/s."""

from __future__ import annotations

from typing import Any

from orfit_bench.bench.roofline import Roofline


def throughput(learner: Any, rows: int, roofline: Roofline | None) -> float | None:
    """What the declared cost and the measured rates allow after so many rows, one pass.

    None where no rates were measured, on a device, for other models than the linear one, whose own functions nobody
    counts, and where the cost is none.
    """
    if roofline is None or not learner.rule.is_linear or learner.backend.device not in ("", "cpu"):
        return None
    state, cost = learner.live_state, learner.method.theory.cost
    layout = learner.rule.layout(state.sizes)
    used = layout.count(state.arrays)
    sizes = layout.sizes | {"count": used * (1 - used / (2 * max(rows, used, 1)))}  # on average: it fills up first
    flops, moved = (f(learner.settings, sizes) for f in (cost.flops, cost.floats))
    seconds = roofline.seconds(flops, moved * learner.dtype.itemsize, learner.state_bytes, learner.dtype.name)
    return 1 / seconds if seconds else None
