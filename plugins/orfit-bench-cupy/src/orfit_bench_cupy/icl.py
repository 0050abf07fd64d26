"""Ideal continual learner on linearized models (survey, Proposition 1 and Remark 1)."""

from orfit_bench_cupy._reduced_coordinates import ReducedKernel
from orfit_bench_numba import icl

_rule = ReducedKernel(icl, "w", rows="basis")
learn, update, step = _rule.learn, _rule.update, _rule.step
