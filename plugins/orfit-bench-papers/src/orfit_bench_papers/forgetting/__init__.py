"""Survey, section I: catastrophic forgetting of every regression method, side by side on the same ten tasks."""

from __future__ import annotations

from orfit_bench.spec import Integer
from orfit_bench_papers.declarations import EXPERIMENTS
from orfit_bench_papers.forgetting.measurement import measure, places
from orfit_bench_papers.forgetting.presentation import sections
from orfit_bench_papers.procedure import Procedure

PROCEDURE = Procedure(
    EXPERIMENTS["forgetting"],
    protocol={"runs": 10, "rows": 100},
    axes=places,
    measure=measure,
    sections=sections,
    ranges={"rows": Integer(2)},
)
