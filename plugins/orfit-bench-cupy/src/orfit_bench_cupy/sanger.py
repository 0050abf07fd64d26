"""Sanger's rule for k-PCA, as the Krasulina paper has it."""

from orfit_bench_cupy._reduced_coordinates import ReducedKernel
from orfit_bench_numba import sanger

_rule = ReducedKernel(sanger, "basis")
learn, step = _rule.learn, _rule.step
