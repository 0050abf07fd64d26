"""Affine projection (survey, APA; with all rows APA-dagger)."""

from orfit_bench_cupy._fleet_windows import learn_windows as fleet_learn
from orfit_bench_cupy._reduced_coordinates import ReducedKernel
from orfit_bench_numba import apa

__all__ = ["fleet_learn", "learn", "update"]

_rule = ReducedKernel(apa, "w", rows="rows")
learn, update = _rule.learn, _rule.update
