"""Mutation testing: change a kernel or a learner in one place, and test whether the conformance kit notices.

A mutant that no check notices has survived: either it computes the same, or a law or a check is missing.
"""

from __future__ import annotations

from orfit_bench.mutation.run import MutantResult, MutationReport, run_mutants

__all__ = ["MutantResult", "MutationReport", "run_mutants"]
