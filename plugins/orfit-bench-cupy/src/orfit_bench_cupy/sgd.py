"""SGD and its flavours (slides, "SGD beyond least square" to "SGD convergence"; signs and means corrected)."""

from orfit_bench_cupy._span import Along
from orfit_bench_numba import sgd

_rule = Along(sgd, "w", "previous", "average")
learn, update, step = _rule.learn, _rule.update, _rule.step
ahead = sgd.ahead
