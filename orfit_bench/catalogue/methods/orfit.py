"""ORFit: fit every new row in one step, in the direction that changes the stored directions least."""

from __future__ import annotations

from orfit_bench.catalogue.laws.orfit import LAWS
from orfit_bench.catalogue.shared.declarations import BASIS, MEMORY, WEIGHTS, max_directions
from orfit_bench.catalogue.shared.least_squares import min_norm_within_memory
from orfit_bench.catalogue.shared.merging import UNION
from orfit_bench.spec.merge import Combine
from orfit_bench.spec.method import KernelSpec, Method
from orfit_bench.spec.setting import Setting
from orfit_bench.spec.state import Field, Growth, PrecisionWarning, Settings, StateSpec
from orfit_bench.spec.theory import Cost, Theory
from orfit_bench.spec.types import Choice, Integer


def _limited(settings: Settings) -> bool:
    return settings["memory"] is not None


def _may_grow(settings: Settings) -> bool:
    """Whether the memory forgets directions regardless of their size, so that weights can grow without bound."""
    return _limited(settings) and settings["summary"] in ("latest", "random")


METHOD = Method(
    name="orfit",
    summary="orthogonal recursive fitting: fit each new row in one step with the least change for the stored "
    "directions",
    use_when="Each new row must be fitted in one pass, forgetting as little as possible, with a fixed storage of "
    "`memory` directions; models with many more parameters than rows benefit most. There is no step size to tune.",
    avoid_when="Targets are noisy: every row is fitted exactly, noise included; rls with a ridge averages noise out. "
    "There are many more rows than parameters, or the target drifts: rls with a forgetting factor or nlms adapts, "
    "orfit without a limit cannot. The memory holds at least half of the directions of the rows with summary='latest' "
    "or 'random' (errors and weights grow with every row, until a warning), or singular values tie at the cut with "
    "'ipca' (rounding, and thus the chunk size, decides which direction stays).",
    formulas="J~ = J - U U'J\nw <- w + J~ (J'J~)^-1 (y - f)\n"
    "U, Sigma <- the first `memory` singular vectors of [U Sigma, J]",
    source="thesis, Algorithms 1 to 4 (corrected: Algorithm 2's u and Algorithm 3's column are normalized residuals)",
    settings=(
        MEMORY,
        Setting(
            "summary",
            Choice(("ipca", "largest", "latest", "random")),
            "ipca",
            "which directions are kept when the memory is full",
        ),
        Setting("batch_size", Integer(1), 1, "number of rows fitted together"),
    ),
    examples=(
        {"memory": 2, "summary": "largest"},
        {"memory": 2, "summary": "latest"},
        {"memory": 2, "summary": "random"},
        {"memory": 3, "batch_size": 4},
        {"memory": 2, "batch_size": 2, "summary": "random"},
    ),
    state=StateSpec(
        (
            WEIGHTS,
            BASIS,
            Field(
                "singular_values",
                ("direction",),
                "weight of each direction: singular value for ipca, norm of the residual otherwise",
                when=_limited,
            ),
            Field(
                "direction_errors",
                ("direction",),
                "estimated rounding error of each direction, at most 1",
                when=_may_grow,
                compared="nothing",
                later=True,
            ),
            Field("precision_lost", (), "1 once a direction has lost half of its digits", when=_may_grow, later=True),
        ),
        warning=PrecisionWarning(
            "precision_lost",
            "half of the digits of a direction are lost: the memory holds most of the directions of the rows, and "
            "forgets large ones, so that errors and weights grow with every row. Remedies: summary='ipca' or "
            "'largest', or a memory of less than half the rank of the rows",
        ),
        growth=Growth("direction", max_directions),
    ),
    kernel=KernelSpec(
        models=True, blocks=True, draws=lambda settings: int(settings["summary"] == "random" and _limited(settings))
    ),
    theory=Theory(
        laws=LAWS,
        batch=min_norm_within_memory,
        cost=Cost(  # with a memory: delayed rotations, two passes over the basis
            flops=lambda s, z: (4 * (1 + _limited(s)) * z["count"] + 4 * z["output"] + 4) * z["parameter"],
            floats=lambda s, z: (2 * z["count"] * _limited(s) + 2 + 2 * z["output"]) * z["parameter"],
        ),
    ),
    combine=Combine(UNION),
)
