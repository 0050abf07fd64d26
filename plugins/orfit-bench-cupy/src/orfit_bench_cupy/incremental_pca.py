"""Incremental PCA (R. Arora et al. 2012, as named in the Krasulina paper)."""

from orfit_bench_cupy._reduced_coordinates import ReducedKernel
from orfit_bench_numba import incremental_pca

_rule = ReducedKernel(incremental_pca, "basis")
learn, step = _rule.learn, _rule.step
