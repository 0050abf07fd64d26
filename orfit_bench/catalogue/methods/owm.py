"""OWM: gradient steps of a deep network, each layer's shaped by an RLS matrix of what the layer takes in.

The survey names this (EBP, and OWM in continual learning) and gives no formulas. What stands here is our reading of
it, docs/decisions/0017-layer-wise-rls.md: RLS-(beta, lambda) on the inputs of each layer, its new P times the layer's
gradient step. On one linear layer with step 1 it is RLS itself, which the first law proves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.owm import LAWS
from orfit_bench.catalogue.shared.declarations import WEIGHTS
from orfit_bench.catalogue.shared.merging import invert_spd, remaining_weight, weighted_mean
from orfit_bench.spec.merge import Merge, Side
from orfit_bench.spec.method import Array, Cost, Diagonal, Field, Method, Settings, Sizes
from orfit_bench.spec.setting import Setting


def _prior(settings: Settings, sizes: Sizes, draw: Any) -> Diagonal:
    return Diagonal(1 / settings["ridge"], sizes["input"])


def merge(a: Side, b: Side, settings: Settings) -> dict[str, Array]:
    """The mean of the weights; each layer's information is that of both, its prior counting once."""
    left = remaining_weight(settings["forgetting_factor"], b.steps)
    merged = weighted_mean(a, b, "w") | {"digits_lost": np.maximum(a.fields["digits_lost"], b.fields["digits_lost"])}
    for P in (name for name in a.fields if name.startswith("P_")):
        L_a, L_b, L_0 = (invert_spd(M, a.eps, P) for M in (a.fields[P], b.fields[P], a.start[P]))
        merged[P] = invert_spd(left * (L_a - L_0) + L_b, a.eps, P)
    return merged


METHOD = Method(
    name="owm",
    summary="layer-wise RLS: each layer's step multiplied by the RLS matrix of what the layer takes in",
    formulas="a: what layer l takes in, Delta_l: what plain gradient descent on |y - f|^2 / 2 would add to Theta_l\n"
    "P_l <- (P_l - P_l a a'P_l / (ff + a'P_l a)) / ff, for all layers l\n"
    "Theta_l <- Theta_l + step P_l Delta_l, with the new P_l",
    source="survey, EBP and OWM, named there without formulas: a reading (docs/decisions/0017-layer-wise-rls.md)",
    settings=(
        Setting("step_size", "schedule", 0.5, "(0, inf)", "the step; 1 makes one linear layer RLS, several overshoot"),
        Setting("ridge", "number", 1.0, "(0, inf)", "weight of the prior of every layer"),
        Setting("forgetting_factor", "number", 1.0, "(0, inf)", "weight of what a layer took in one step later"),
    ),
    fields=(
        WEIGHTS,
        Field("P", ("input", "input"), "inverse of the weighted information of the layer", start=_prior, layered=True),
        Field("digits_lost", (), "1 once half of the digits of a P are gone"),
    ),
    examples=({"forgetting_factor": 0.9},),
    cost=Cost(
        flops=lambda s, z: (2 * z["gradients"] + 2) * z["parameter"] + 5 * z["input"] ** 2,
        floats=lambda s, z: (z["gradients"] + 2) * z["parameter"] + 2 * z["input"] ** 2,
    ),
    merge=Merge("averaged", "the mean of the weights by rows seen; each layer's P counts what both took in", merge),
    laws=LAWS,
    warns=(
        "digits_lost",
        "half of the digits of a layer's P are gone: it winds up in directions that the layer hardly takes in, or what "
        "it takes in is large beside the prior. What helps: a forgetting factor nearer 1, a larger ridge, narrower "
        "layers, scaled data",
    ),
)
