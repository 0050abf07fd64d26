"""Oja's rule for k-PCA (Krasulina paper, eq. 6)."""

from orfit_bench_cupy._span import Along
from orfit_bench_numba import oja

_rule = Along(oja, "basis")
learn, step = _rule.learn, _rule.step
