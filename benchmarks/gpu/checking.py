"""The conformance kit, of some methods in one dtype: counts, and every failed check with its message."""

from __future__ import annotations

import os

from benchmarks.gpu.workers import Tell
from orfit_bench.conformance import CheckResult
from orfit_bench.conformance.isolated import conform_isolated
from orfit_bench.conformance.result import FAILED

TIMEOUT = 300.0
"""Time limit of a check in seconds; the first check of a process compiles and loads libraries."""
FEW = ("agrees_with_reference", "any_chunking", "arrays_have_backend_type")
"""The checks of a trial."""


def check(tell: Tell, backend: str, methods: list[str], dtype: str, seed: int, workers: int, small: bool) -> None:
    """Run every check in worker processes; AssertionError if one failed or too few ran."""
    os.environ.pop("ORFIT_BENCH_THREADS", None)  # the cores are for the workers

    def progress(done: int, total: int, result: CheckResult) -> None:
        if result.status == FAILED:
            tell(**{f"{FAILED} {result.check} of {result.method}": result.reason})

    report = conform_isolated(
        *methods,
        backends=[backend],
        dtypes=[dtype],
        only=FEW if small else (),
        seed=seed,
        timeout=TIMEOUT,
        workers=workers,
        progress=progress,
    )
    ratios = [result.ratio for result in report.results if result.ratio is not None]
    tell(counts=report.counts, problems=report.problems, largest_ratio=max(ratios, default=0.0))
    assert report.passed, "; ".join([f"{report.counts[FAILED]} checks failed", *report.problems])
