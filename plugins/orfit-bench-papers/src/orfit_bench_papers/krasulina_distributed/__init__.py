"""Krasulina paper, Figure 2 and Table 2: ten machines whose subspaces are averaged in rounds, against one."""

from __future__ import annotations

from orfit_bench_papers import _krasulina as k_pca
from orfit_bench_papers.declarations import EXPERIMENTS
from orfit_bench_papers.krasulina_distributed.measurement import measure, places
from orfit_bench_papers.krasulina_distributed.presentation import sections
from orfit_bench_papers.procedure import Procedure

PROCEDURE = Procedure(
    EXPERIMENTS["krasulina-distributed"],
    protocol={"runs": 10, "components": (5, 20), "machines": 10, "rounds": 7},
    axes=places,
    measure=measure,
    sections=sections,
    ranges={"components": k_pca.COMPONENTS},
)
