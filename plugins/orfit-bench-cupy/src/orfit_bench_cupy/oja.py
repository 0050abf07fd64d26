"""Oja's rule for k-PCA (Krasulina paper, eq. 6)."""

from orfit_bench_cupy._reduced_coordinates import ReducedKernel
from orfit_bench_numba import oja

_rule = ReducedKernel(oja, "basis")
learn, step = _rule.learn, _rule.step
