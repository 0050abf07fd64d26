"""OGD, orthogonal gradient descent: gradient steps that do not change the predictions for earlier rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.ogd import LAWS
from orfit_bench.catalogue.shared.declarations import BASIS, MEMORY, STEP_SIZE, WEIGHTS, max_directions
from orfit_bench.catalogue.shared.merging import merge_constraints, residual
from orfit_bench.catalogue.shared.recursions import projected_steps
from orfit_bench.spec import Array, Combine, Cost, Growth, KernelSpec, Merge, Method, Settings, Side, StateSpec, Theory


def batch(X: Array, Y: Array, w0: Array, settings: Any) -> Array | None:
    """In the coordinates of X = L Q' the errors solve a triangular system; None once the memory is full."""
    if len(X) > min(X.shape[1], settings["memory"] or X.shape[1]):
        return None
    return projected_steps(X, Y, w0, settings["step_size"](np.arange(1, len(X) + 1)))


def merge(a: Side, b: Side, settings: Settings) -> dict[str, Array]:
    """b's change of the weights, projected off the span of a's rows; no directions are added to a full basis."""
    U, room = a.fields["basis"], settings["memory"] or a.fields["w"].shape[0]
    move = b.fields["w"] - b.start["w"]
    both = merge_constraints(a, b)["basis"]
    return {"w": a.fields["w"] + residual(U, move), "basis": both[:room]}


METHOD = Method(
    name="ogd",
    summary="orthogonal gradient descent: gradient steps that do not change the predictions for earlier rows",
    use_when="Predictions for earlier rows must not change, but each new row should be learned only with a small "
    "step, for example because its target is noisy. Storage grows by one direction per row up to `memory`.",
    avoid_when="New rows must be fitted in one step: use orfit or icl. The memory is smaller than the number of "
    "independent rows: once it is full, later rows are not protected, whereas orfit summarizes all rows in its "
    "memory.",
    formulas="r = x - U U'x\nw <- w + step e r\nU <- [U r/|r|] while there is room, the gradient taken after the step",
    source="thesis, eq. (2.4); survey, (OGD)",
    settings=(STEP_SIZE, MEMORY),
    examples=({"memory": 3, "step_size": 0.05},),
    state=StateSpec((WEIGHTS, BASIS), growth=Growth("direction", max_directions)),
    kernel=KernelSpec(models=True, blocks=True, needs_post_step_gradients=True),
    theory=Theory(
        laws=LAWS,
        batch=batch,
        cost=Cost(  # block Gram-Schmidt of the rows
            flops=lambda s, z: (4 * z["count"] + 4 * z["output"] + 4) * z["parameter"],
            floats=lambda s, z: (2 + 2 * z["output"]) * z["parameter"],
        ),
    ),
    combine=Combine(
        Merge(
            "approximate",
            "adds the other learner's change of the weights, projected off the span of this learner's rows, so that "
            "their predictions stay; the union of both bases, up to `memory`",
            merge,
        )
    ),
)
