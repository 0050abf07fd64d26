"""Recursive least squares as a plugin could declare it, whose forgetting factor has a name of its own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from helpers.methods import declare

from orfit_bench.spec import Diagonal, Field, Number, Setting, WeightCovariance, Weighting

NAME = "decaying"


def learn(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    for i, x in enumerate(X):
        f, h = x @ s.w, s.P @ x
        if out is not None:
            out[i] = f
        g = h / (p.decay + x @ h)
        w, P = s.w + np.outer(g, Y[i] - f), (s.P - np.outer(g, h)) / p.decay
        if not np.isfinite(w).all() or not np.isfinite(P).all():
            return i
        s.w[...], s.P[...] = w, (P + P.T) / 2
    return len(X)


METHOD = declare(
    NAME,
    Field("w", ("parameter", "output"), "weights"),
    Field("P", ("parameter", "parameter"), "covariance", start=lambda s, z, draw: Diagonal(1.0, z["parameter"])),
    settings=(Setting("decay", Number(0, closed="neither"), 0.9, "forgetting factor"),),
    kernel={"weighting": Weighting("errors", forgets=lambda settings: settings["decay"] != 1)},
    state={"covariance": WeightCovariance(lambda settings, steps: 1 / settings["decay"], "P")},
)
KERNEL = SimpleNamespace(learn=learn)
