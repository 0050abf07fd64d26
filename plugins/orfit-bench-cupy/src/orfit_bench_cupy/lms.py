"""LMS (survey, eq. 2)."""

from orfit_bench_cupy._fleets import NO_FLEETS
from orfit_bench_cupy._reduced_coordinates import ReducedKernel
from orfit_bench_numba import lms

LACKS = NO_FLEETS


_rule = ReducedKernel(lms, "w")
learn, update = _rule.learn, _rule.update
