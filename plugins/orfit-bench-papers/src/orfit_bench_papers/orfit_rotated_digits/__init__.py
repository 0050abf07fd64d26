"""Thesis, section 5.1: one pass over rotated digits with a memory of ten directions, against four simpler methods."""

from __future__ import annotations

from orfit_bench.spec import Integer
from orfit_bench_papers.declarations import EXPERIMENTS
from orfit_bench_papers.orfit_rotated_digits.measurement import measure, readings
from orfit_bench_papers.orfit_rotated_digits.presentation import sections
from orfit_bench_papers.procedure import Procedure

PROCEDURE = Procedure(
    EXPERIMENTS["orfit-rotated-digits"],
    protocol={"runs": 10, "rows": 100, "memory": 10, "sample": 16},
    axes=readings,
    measure=measure,
    sections=sections,
    ranges={"rows": Integer(2), "sample": lambda protocol: Integer(1, protocol["rows"])},
)
