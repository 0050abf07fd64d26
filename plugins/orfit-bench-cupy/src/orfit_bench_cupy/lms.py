"""LMS (survey, eq. 2)."""

from orfit_bench_cupy._span import Along
from orfit_bench_numba import lms

_rule = Along(lms, "w")
learn, update = _rule.learn, _rule.update
