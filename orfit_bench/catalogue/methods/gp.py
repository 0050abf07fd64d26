"""GP, gradient projection: steps of a deep network that leave its layers' outputs for earlier rows unchanged."""

from __future__ import annotations

import numpy as np

from orfit_bench.catalogue.laws.gp import LAWS
from orfit_bench.catalogue.shared.declarations import STEP_SIZE, WEIGHTS
from orfit_bench.catalogue.shared.merging import extend_basis, weighted_mean
from orfit_bench.spec.merge import Combine, Merge, Side
from orfit_bench.spec.method import KernelSpec, Method
from orfit_bench.spec.setting import Setting
from orfit_bench.spec.state import Array, Field, Settings, Sizes, StateSpec
from orfit_bench.spec.theory import Cost, Theory
from orfit_bench.spec.types import Integer


def _directions(settings: Settings, sizes: Sizes) -> int:
    """The largest number of independent directions: the number of inputs or the rank, whichever is smaller."""
    return min(settings["rank"] or sizes["input"], sizes["input"])


def _limited(settings: Settings) -> bool:
    return settings["rank"] is not None


def merge(a: Side, b: Side, settings: Settings) -> dict[str, Array]:
    """The mean of the weights; each layer's basis spans the inputs of both learners, up to its length."""
    merged = weighted_mean(a, b, "w")
    for name in (name for name in a.fields if name.startswith("basis_")):
        U, V = a.fields[name], b.fields[name]
        joined = extend_basis(U[U.any(axis=1)], V[V.any(axis=1)], np.sqrt(a.eps))
        if _limited(settings):
            values = name.replace("basis", "singular_values")
            both = np.vstack([U * a.fields[values][:, None], V * b.fields[values][:, None]])
            _, sigma, turn = np.linalg.svd(both @ joined.T, full_matrices=False)  # small values keep their directions
            joined = turn @ joined
            merged[values] = _of_length(np.maximum(sigma, a.eps * sigma.max(initial=0)), len(U))
        merged[name] = _of_length(joined, len(U))
    return merged


def _of_length(a: Array, length: int) -> Array:
    """The first rows of an array, followed by zeros if there are too few."""
    return np.concatenate([a, np.zeros((length, *a.shape[1:]), a.dtype)])[:length]


METHOD = Method(
    name="gp",
    summary="gradient projection: each layer's gradient step is projected off the span of its past inputs",
    use_when="You train a deep network on a sequence of tasks and the outputs for earlier rows should stay "
    "unchanged; every layer stores a basis of its past inputs.",
    avoid_when="The model is not layered: use ogd. The rows span the inputs of a layer: no direction is left to learn "
    "in, unless `rank` limits the basis. Targets drift: earlier rows stay protected even if they are outdated.",
    formulas="Delta_l: the change of Theta_l by gradient descent on |y - f|^2 / 2 with step 1\n"
    "Theta_l <- Theta_l + step (I - U_l U_l') Delta_l, for all layers l\n"
    "U_l <- [U_l r/|r|], r = a - U_l U_l'a, a the input of layer l after the step\n"
    "with a rank: U_l, Sigma_l <- the first `rank` singular vectors of [U_l Sigma_l, a]",
    source="survey, (GP) and its low-rank version",
    settings=(
        STEP_SIZE,
        Setting(
            "rank",
            Integer(1),
            None,
            "number of leading directions that each layer keeps of its past inputs; None keeps all",
            optional=True,
        ),
    ),
    state=StateSpec(
        (
            WEIGHTS,
            Field(
                "basis",
                ("direction", "input"),
                "orthonormal rows that span the past inputs of the layer; unused rows are zero",
                layered=True,
                compared="span",
            ),
            Field(
                "singular_values",
                ("direction",),
                "singular value of each direction",
                when=_limited,
                layered=True,
            ),
        ),
        lengths={"direction": _directions},
    ),
    kernel=KernelSpec(needs_post_step_gradients=True),
    theory=Theory(
        laws=LAWS,
        cost=Cost(
            flops=lambda s, z: (
                (8 * z["direction"] + 2 * z["gradients"] + 2) * z["parameter"]
                + (8 + 2 * z["direction"] * _limited(s)) * z["direction"] * z["input"]
            ),
            floats=lambda s, z: (z["gradients"] + 2) * z["parameter"] + (2 + _limited(s)) * z["direction"] * z["input"],
        ),
    ),
    combine=Combine(
        Merge(
            "averaged",
            "the mean of the weights, weighted by the number of rows; each layer's basis spans the inputs of both",
            merge,
        )
    ),
)
