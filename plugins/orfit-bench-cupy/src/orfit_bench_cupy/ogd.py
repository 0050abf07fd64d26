"""Orthogonal gradient descent (thesis, eq. 2.4; survey, OGD): gradient steps off the span of earlier gradients."""

from orfit_bench_cupy._reduced_coordinates import ReducedKernel
from orfit_bench_numba import ogd

_rule = ReducedKernel(ogd, "w", rows="basis")
learn, update, step, store = _rule.learn, _rule.update, _rule.step, _rule.store
