"""ORFit: fit every new row in one step, in the direction that disturbs the remembered rows least."""

from __future__ import annotations

from orfit_bench.catalogue.laws.orfit import LAWS
from orfit_bench.catalogue.shared.declarations import BASIS, MEMORY, WEIGHTS, max_directions
from orfit_bench.catalogue.shared.least_squares import min_norm_within_memory
from orfit_bench.catalogue.shared.merging import UNION
from orfit_bench.spec.method import Cost, Field, Growth, Method, Settings
from orfit_bench.spec.setting import Setting


def _limited(settings: Settings) -> bool:
    return settings["memory"] is not None


METHOD = Method(
    name="orfit",
    summary="orthogonal recursive fitting: fit each new row, disturb the remembered ones least",
    formulas="J~ = J - U U'J\nw <- w + J~ (J'J~)^-1 (y - f)\n"
    "U, Sigma <- the first `memory` singular vectors of [U Sigma, J]",
    source="thesis, Algorithms 1 to 4 (corrected: Algorithm 2's u and Algorithm 3's column are normalised residuals)",
    settings=(
        MEMORY,
        Setting("summary", "choice", "ipca", "ipca|largest|latest|random", "which directions a full memory keeps"),
        Setting("batch_size", "integer", 1, "[1, inf)", "rows that are fitted together"),
    ),
    fields=(
        WEIGHTS,
        BASIS,
        Field(
            "singular_values",
            ("direction",),
            "how much a direction counts (residual norm, unless ipca)",
            when=_limited,
        ),
    ),
    examples=(
        {"memory": 2, "summary": "largest"},
        {"memory": 2, "summary": "latest"},
        {"memory": 2, "summary": "random"},
        {"memory": 3, "batch_size": 4},
        {"memory": 2, "batch_size": 2, "summary": "random"},
    ),
    cost=Cost(  # with a memory: its rotation delayed, which leaves two passes over the basis
        flops=lambda s, z: (4 * (1 + _limited(s)) * z["count"] + 4 * z["output"] + 4) * z["parameter"],
        floats=lambda s, z: (2 * z["count"] * _limited(s) + 2 + 2 * z["output"]) * z["parameter"],
    ),
    laws=LAWS,
    batch=min_norm_within_memory,
    models=True,
    blocks=True,
    merge=UNION,
    grows=Growth("direction", max_directions),
    draws=lambda settings: int(settings["summary"] == "random" and _limited(settings)),
)
