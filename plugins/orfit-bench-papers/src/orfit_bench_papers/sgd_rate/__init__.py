"""Slides, "SGD convergence": averaged SGD against the bound B G / sqrt(T), where it holds and where it does not."""

from __future__ import annotations

from orfit_bench.spec import Integer
from orfit_bench_papers.declarations import EXPERIMENTS
from orfit_bench_papers.procedure import Procedure
from orfit_bench_papers.sgd_rate.measurement import measure, places
from orfit_bench_papers.sgd_rate.presentation import sections

PROCEDURE = Procedure(
    EXPERIMENTS["sgd-rate"],
    protocol={"runs": 20, "repeats": 50, "horizons": (100, 300, 1000, 3000, 10000)},
    axes=places,
    measure=measure,
    sections=sections,
    ranges={"horizons": Integer(3)},
)
