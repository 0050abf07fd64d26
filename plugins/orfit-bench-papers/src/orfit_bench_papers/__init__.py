"""The experiments of the papers that orfit_bench's methods come from, computed again: `orfit-bench reproduce NAME`.

>>> from orfit_bench_papers import EXPERIMENTS
>>> EXPERIMENTS["orfit-rotated-digits"].source
'thesis, section 5.1, Figure 5-1'
"""

from __future__ import annotations

from orfit_bench.plugins.hooks import hookimpl
from orfit_bench.spec import Experiment
from orfit_bench_papers.declarations import EXPERIMENTS

SPEC_VERSION = (1, 0)

__all__ = ["EXPERIMENTS", "SPEC_VERSION", "experiments"]


@hookimpl
def experiments() -> tuple[Experiment, ...]:
    """The experiments: twelve figures and tables."""
    return tuple(EXPERIMENTS.values())
