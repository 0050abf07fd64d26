"""Implicit Krasulina for k-PCA (Krasulina paper, eq. 12 and 13)."""

from orfit_bench_cupy._span import Along
from orfit_bench_numba import implicit_krasulina

_rule = Along(implicit_krasulina, "basis")
learn, step = _rule.learn, _rule.step
