"""Oja's rule for k-PCA (Krasulina paper, after eq. 9)."""

from orfit_bench_cupy._fleet_windows import learn_subspaces as fleet_learn
from orfit_bench_cupy._reduced_coordinates import ReducedKernel
from orfit_bench_numba import oja

__all__ = ["fleet_learn", "learn", "step"]

_rule = ReducedKernel(oja, "basis")
learn, step = _rule.learn, _rule.step
