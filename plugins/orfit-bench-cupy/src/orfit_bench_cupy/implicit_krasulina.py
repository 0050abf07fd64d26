"""Implicit Krasulina for k-PCA (Krasulina paper, eq. 12 and 13)."""

from orfit_bench_cupy._reduced_coordinates import ReducedKernel
from orfit_bench_numba import implicit_krasulina

_rule = ReducedKernel(implicit_krasulina, "basis")
learn, step = _rule.learn, _rule.step
