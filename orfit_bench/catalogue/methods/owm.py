"""OWM: gradient steps of a deep network, each layer's multiplied by an RLS matrix of the layer's inputs.

The survey names this method (EBP, and OWM in continual learning) without formulas. This is our interpretation
(docs/decisions/0017-layer-wise-rls.md): RLS-(beta, lambda) on the inputs of each layer, whose new P multiplies the
layer's gradient step. On one linear layer with step 1 it equals RLS, as the first law verifies.
"""

from __future__ import annotations

from typing import Any

from orfit_bench.catalogue.laws.owm import LAWS
from orfit_bench.catalogue.shared.declarations import WEIGHTS, remembered_steps
from orfit_bench.catalogue.shared.merging import add_inverses, any_lost, remaining_weight, weighted_mean
from orfit_bench.spec.merge import Combine, Merge, Side
from orfit_bench.spec.method import Method
from orfit_bench.spec.setting import Setting
from orfit_bench.spec.state import Array, Diagonal, Field, PrecisionWarning, Settings, Sizes, StateSpec
from orfit_bench.spec.theory import Cost, Theory
from orfit_bench.spec.types import Number, NumberOrSchedule


def _prior(settings: Settings, sizes: Sizes, draw: Any) -> Diagonal:
    return Diagonal(1 / settings["ridge"], sizes["input"])


def merge(a: Side, b: Side, settings: Settings) -> dict[str, Array]:
    """The mean of the weights; each layer's information is the sum of both, with the prior counted once."""
    left = remaining_weight(settings["forgetting_factor"], b.steps)
    merged, lost = weighted_mean(a, b, "w"), False
    for P in (name for name in a.fields if name.startswith("P_")):
        merged[P], _, lost_here = add_inverses(a.fields[P], b.fields[P], a.start[P], left, a.eps)
        lost = lost or lost_here
    return merged | {"precision_lost": any_lost(a, b, lost)}


METHOD = Method(
    name="owm",
    summary="layer-wise RLS: each layer's gradient step is multiplied by the RLS matrix P of the layer's inputs",
    use_when="You train a deep network on a sequence of tasks and want to damp, rather than forbid, changes in "
    "directions that earlier inputs used. Ridge and forgetting factor control how strongly they are protected.",
    avoid_when="The model has a single linear layer: use rls. Layers are wide: each layer stores and updates a matrix "
    "of inputs by inputs. Earlier outputs must not change at all: use gp.",
    formulas="a: input of layer l, Delta_l: change of Theta_l by gradient descent on |y - f|^2 / 2 with step 1\n"
    "P_l <- (P_l - P_l a a'P_l / (ff + a'P_l a)) / ff, for all layers l\n"
    "Theta_l <- Theta_l + step P_l Delta_l, with the new P_l",
    source="survey, EBP and OWM, named there without formulas: our interpretation, docs/decisions/0017",
    settings=(
        Setting(
            "step_size",
            NumberOrSchedule(0, closed="neither"),
            0.5,
            "step size; with 1 a single linear layer is RLS, several layers overshoot",
        ),
        Setting("ridge", Number(0, closed="neither"), 1.0, "weight of the prior of each layer"),
        Setting(
            "forgetting_factor",
            Number(0, closed="neither"),
            1.0,
            "factor by which the weight of past inputs is multiplied at each step",
        ),
    ),
    examples=({"forgetting_factor": 0.9},),
    state=StateSpec(
        (
            WEIGHTS,
            Field(
                "P", ("input", "input"), "inverse of the weighted information of the layer", start=_prior, layered=True
            ),
            Field("precision_lost", (), "1 once half of the digits of some P are lost"),
        ),
        warning=PrecisionWarning(
            "precision_lost",
            "half of the digits of a layer's P are lost: P grows in directions that the layer's inputs rarely excite "
            "(wind-up), or the inputs are large compared with the prior. Remedies: a forgetting factor nearer 1, a "
            "larger ridge, narrower layers, scaled data, dtype='float64' for more than a million rows",
            remembered_steps,
        ),
    ),
    theory=Theory(
        laws=LAWS,
        cost=Cost(
            flops=lambda s, z: (2 * z["gradients"] + 2) * z["parameter"] + 5 * z["input"] ** 2,
            floats=lambda s, z: (z["gradients"] + 2) * z["parameter"] + 2 * z["input"] ** 2,
        ),
    ),
    combine=Combine(
        Merge(
            "averaged",
            "the mean of the weights, weighted by the number of rows; each layer's P includes the inputs of both",
            merge,
        )
    ),
)
