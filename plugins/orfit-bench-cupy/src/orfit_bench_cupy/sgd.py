"""SGD and its variants (slides, "SGD beyond least square" to "SGD convergence"; signs and means corrected)."""

from orfit_bench_cupy._reduced_coordinates import ReducedKernel
from orfit_bench_numba import sgd

_rule = ReducedKernel(sgd, "w", "previous", "average")
learn, update, step = _rule.learn, _rule.update, _rule.step
ahead = sgd.ahead
