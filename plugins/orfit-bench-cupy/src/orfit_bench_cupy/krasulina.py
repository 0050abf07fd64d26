"""Krasulina's rule for k-PCA (Krasulina paper, eq. 9)."""

from orfit_bench_cupy._span import Along
from orfit_bench_numba import krasulina

_rule = Along(krasulina, "basis")
learn, step = _rule.learn, _rule.step
