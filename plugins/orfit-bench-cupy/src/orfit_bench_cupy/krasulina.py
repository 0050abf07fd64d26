"""Krasulina's rule for k-PCA (Krasulina paper, eq. 9)."""

from orfit_bench_cupy._reduced_coordinates import ReducedKernel
from orfit_bench_numba import krasulina

_rule = ReducedKernel(krasulina, "basis")
learn, step = _rule.learn, _rule.step
