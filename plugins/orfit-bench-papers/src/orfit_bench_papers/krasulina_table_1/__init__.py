"""Krasulina paper, Table 1: the effect of a wrong step size on each rule for k-PCA."""

from __future__ import annotations

from orfit_bench_papers import _krasulina as k_pca
from orfit_bench_papers.declarations import EXPERIMENTS
from orfit_bench_papers.krasulina_table_1.measurement import measure, readings
from orfit_bench_papers.krasulina_table_1.presentation import sections
from orfit_bench_papers.procedure import Procedure

PROCEDURE = Procedure(
    EXPERIMENTS["krasulina-table-1"],
    protocol={"runs": 10, "components": (5, 10, 20)},
    axes=readings,
    measure=measure,
    sections=sections,
    ranges={"components": k_pca.COMPONENTS},
)
