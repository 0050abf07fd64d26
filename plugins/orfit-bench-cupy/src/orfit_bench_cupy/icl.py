"""Ideal continual learner on linearised models (survey, Proposition 1 and Remark 1)."""

from orfit_bench_cupy._span import Along
from orfit_bench_numba import icl

_rule = Along(icl, "w", rows="basis")
learn, update, step = _rule.learn, _rule.update, _rule.step
