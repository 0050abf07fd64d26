"""One-step SGD: ORFit with an empty memory (thesis, section 5.1)."""

from orfit_bench_cupy._reduced_coordinates import ReducedKernel
from orfit_bench_numba import one_step_sgd

_rule = ReducedKernel(one_step_sgd, "w")
learn, update = _rule.learn, _rule.update
