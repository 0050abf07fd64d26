"""LMS (survey, eq. 2)."""

from orfit_bench_cupy._reduced_coordinates import ReducedKernel
from orfit_bench_numba import lms

_rule = ReducedKernel(lms, "w")
learn, update = _rule.learn, _rule.update
