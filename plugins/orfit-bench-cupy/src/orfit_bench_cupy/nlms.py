"""Normalised LMS (survey, the program LMS; Krasulina paper, after eq. 13)."""

from orfit_bench.spec.kernel_arguments import FleetParams, State
from orfit_bench_cupy._fleet_kernels import learn_gradients
from orfit_bench_cupy._reduced_coordinates import ReducedKernel
from orfit_bench_cupy._transfers import Array, Host
from orfit_bench_numba import nlms

_rule = ReducedKernel(nlms, "w")
learn, update = _rule.learn, _rule.update


def fleet_learn(s: State, X: Array, Y: Array, p: FleetParams, out: Array | None) -> Host:
    """Learn rows of many members in one launch."""
    return learn_gradients(s, X, Y, p, p.eps, out)
