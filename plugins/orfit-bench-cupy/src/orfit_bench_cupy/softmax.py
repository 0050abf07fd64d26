"""Softmax regression (slides, SGD beyond least square, with the multinomial logistic loss)."""

from orfit_bench_cupy._reduced_coordinates import ReducedKernel
from orfit_bench_numba import softmax

_rule = ReducedKernel(softmax, "w")
learn, update, step = _rule.learn, _rule.update, _rule.step
