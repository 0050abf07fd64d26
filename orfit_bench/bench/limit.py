"""The roofline limit of the throughput of a learner, in samples/s."""

from __future__ import annotations

from typing import Any

from orfit_bench.bench.roofline import Roofline


def throughput(learner: Any, rows: int, roofline: Roofline | None) -> float | None:
    """Return the throughput that the declared cost and the measured rates allow, after one pass of `rows` rows.

    None if no rates were measured, on a device, for nonlinear models (the cost of their functions is unknown), or if
    the cost is zero.
    """
    if roofline is None or not learner.rule.is_linear or learner.backend.device not in ("", "cpu"):
        return None
    state, cost = learner.live_state, learner.method.theory.cost
    layout = learner.rule.layout(state.sizes)
    used = layout.count(state.arrays)
    # The average count over the pass: the memory fills up linearly and stays full.
    sizes = layout.sizes | {"count": used * (1 - used / (2 * max(rows, used, 1)))}
    flops, moved = (f(learner.settings, sizes) for f in (cost.flops, cost.floats))
    seconds = roofline.seconds(flops, moved * learner.dtype.itemsize, learner.state_bytes, learner.dtype.name)
    return 1 / seconds if seconds else None
