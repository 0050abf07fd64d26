"""Affine projection (survey, APA; with all rows APA-dagger)."""

from orfit_bench_cupy._fleets import NO_FLEETS
from orfit_bench_cupy._reduced_coordinates import ReducedKernel
from orfit_bench_numba import apa

LACKS = NO_FLEETS


_rule = ReducedKernel(apa, "w", rows="rows")
learn, update = _rule.learn, _rule.update
