"""ORFit (thesis, Algorithms 1 to 4, corrected): fit new rows with the least change of remembered predictions."""

from orfit_bench_cupy._reduced_coordinates import ReducedKernel
from orfit_bench_numba import orfit

_rule = ReducedKernel(orfit, "w", rows="basis")
learn, update, step = _rule.learn, _rule.update, _rule.step
