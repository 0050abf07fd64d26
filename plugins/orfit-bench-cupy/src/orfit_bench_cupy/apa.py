"""Affine projection (survey, APA; with all rows APA-dagger)."""

from orfit_bench_cupy._span import Along
from orfit_bench_numba import apa

_rule = Along(apa, "w", rows="rows")
learn, update = _rule.learn, _rule.update
