"""Recursive least squares (thesis, eq. 2.3; least-squares notes, block update; survey, RLS-(beta, lambda))."""

import numpy as np

from orfit_bench.kernels.guards import forgetting_limits
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_cupy._block_rls import learn_rows
from orfit_bench_cupy._covariance import learn_step
from orfit_bench_cupy._fleet_kernels import learn_covariances as fleet_learn
from orfit_bench_cupy._reduced_coordinates import ReducedKernel
from orfit_bench_cupy._transfers import Array, run_on_host
from orfit_bench_numba import rls

__all__ = ["LACKS", "fleet_learn", "learn", "step", "update"]
ROOTS = "a step changes a triangular matrix by rotations, one after another, which a device has no fast function for"
LACKS = {"form=square_root": ROOTS, "forgetting=directional": ROOTS}

_interpolating = ReducedKernel(rls, "w", rows="basis")


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """For each row: P <- (P - P x x'P / (ff + x'P x)) / ff,  w <- w + P_old x e / (ff + x'P_old x)."""
    ff = p.forgetting_factor
    if ff == 0:
        return _interpolating.learn(s, X, Y, p, out)
    noise = np.full(len(X), ff, X.dtype)
    return learn_rows(s, s.P, s.w, X, Y, noise, p, out, rls, forgetting_limits(ff, X.dtype))


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """P <- (P - P J'(ff I + J P J')^-1 J P) / ff,  w <- w + P_old J'(ff I + J P_old J')^-1 E."""
    ff = p.forgetting_factor
    if ff == 0:
        return _interpolating.update(s, J, E, p)
    if p.ridge == 0 and p.t == 1:  # a least-squares solution, once
        return bool(run_on_host(s, lambda t, j, e: rls.start_without_prior(t, j, e), J, E))
    R = ff * np.eye(len(J), dtype=J.dtype)
    return learn_step(s.P, s.w, J, E, R, s.precision_lost, forgetting_limits(ff, J.dtype))


def step(s: State, A: Array, Y: Array, p: Params) -> bool:
    """Learn all rows of A in one step."""
    return _interpolating.step(s, A, Y, p) if p.forgetting_factor == 0 else update(s, A, Y - A @ s.w, p)
