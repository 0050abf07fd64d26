"""Normalised LMS (survey, the program LMS; Krasulina paper, after eq. 13)."""

from orfit_bench_cupy._fleets import NO_FLEETS
from orfit_bench_cupy._reduced_coordinates import ReducedKernel
from orfit_bench_numba import nlms

LACKS = NO_FLEETS


_rule = ReducedKernel(nlms, "w")
learn, update = _rule.learn, _rule.update
