"""Thesis, section 5.2: one pass without a limit on memory, against a thousand passes of SGD."""

from __future__ import annotations

from orfit_bench.spec import Integer, Number
from orfit_bench_papers.declarations import EXPERIMENTS
from orfit_bench_papers.orfit_unlimited.measurement import measure, readings
from orfit_bench_papers.orfit_unlimited.presentation import sections
from orfit_bench_papers.procedure import Procedure

PROCEDURE = Procedure(
    EXPERIMENTS["orfit-unlimited"],
    protocol={"runs": 10, "rows": 100, "epochs": 1000, "step_size": 1e-5, "sample": 11},
    axes=readings,
    measure=measure,
    sections=sections,
    ranges={
        "rows": Integer(2),
        "sample": lambda protocol: Integer(1, protocol["rows"]),
        "step_size": Number(0, closed="neither"),
    },
)
