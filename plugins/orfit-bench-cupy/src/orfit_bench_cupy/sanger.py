"""Sanger's rule for k-PCA, in the form of the Krasulina paper (after eq. 12)."""

from orfit_bench_cupy._reduced_coordinates import ReducedKernel
from orfit_bench_numba import sanger

_rule = ReducedKernel(sanger, "basis")
learn, step = _rule.learn, _rule.step
