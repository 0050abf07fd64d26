"""One-step SGD: fits each row exactly in one gradient step, like ORFit but without a memory."""

from __future__ import annotations

from typing import Any

from orfit_bench.catalogue.laws.one_step_sgd import LAWS
from orfit_bench.catalogue.shared.declarations import WEIGHTS
from orfit_bench.catalogue.shared.merging import combine_by_mean
from orfit_bench.catalogue.shared.recursions import gradient_steps, normalized_steps
from orfit_bench.spec import Array, Cost, KernelSpec, Method, StateSpec, Theory


def batch(X: Array, Y: Array, w0: Array, settings: Any) -> Array:
    """The errors of all rows solve a triangular system; w is w0 plus the steps."""
    return gradient_steps(X, Y, w0, normalized_steps(X, 1.0, 0.0))


METHOD = Method(
    name="one_step_sgd",
    summary="fit each row exactly in one gradient step, without a memory",
    use_when="You need a baseline that fits every new row exactly and stores nothing, for example to see what the "
    "memory of orfit contributes. There is nothing to tune.",
    avoid_when="Targets are noisy or earlier rows matter: every row overwrites part of what was learned. Use nlms "
    "for a smaller step, orfit or icl to keep earlier rows fitted.",
    formulas="e = y - x'w\nw <- w + e x / (x'x)",
    source="thesis, section 5.1 with eq. (3.2)",
    settings=(),
    state=StateSpec((WEIGHTS,)),
    kernel=KernelSpec(models=True, needs_dense_rows=lambda settings: ""),
    theory=Theory(
        laws=LAWS,
        batch=batch,
        batch_memory=lambda settings, sizes: 0.0,  # a few blocks
        cost=Cost(
            flops=lambda s, z: (4 * z["output"] + 2) * z["parameter"],
            floats=lambda s, z: (1 + 2 * z["output"]) * z["parameter"],
        ),
    ),
    combine=combine_by_mean("w"),
)
