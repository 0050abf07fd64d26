"""Sanger's rule for k-PCA, as the Krasulina paper has it."""

from orfit_bench_cupy._span import Along
from orfit_bench_numba import sanger

_rule = Along(sanger, "basis")
learn, step = _rule.learn, _rule.step
