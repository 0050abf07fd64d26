"""Oja's rule for k-PCA (Krasulina paper, eq. 6)."""

from orfit_bench_cupy._fleets import NO_FLEETS
from orfit_bench_cupy._reduced_coordinates import ReducedKernel
from orfit_bench_numba import oja

LACKS = NO_FLEETS


_rule = ReducedKernel(oja, "basis")
learn, step = _rule.learn, _rule.step
