"""Layer-wise RLS (survey, EBP and OWM, as interpreted here): the step of a layer times the RLS matrix of its inputs."""

import numpy as np

from orfit_bench.kernels.guards import forgetting_limits
from orfit_bench.kernels.layers import layer_fields, layer_matrices, propagated_errors
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_cupy._covariance import apply_changes, compute_changes
from orfit_bench_cupy._transfers import Array


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """P_l <- (P_l - P_l a a'P_l / (ff + a'P_l a)) / ff,  then Theta_l <- Theta_l + step P_l Delta_l."""
    limits, P, moved = forgetting_limits(p.forgetting_factor, J.dtype), layer_fields(s, "P", p), s.w.copy()
    noise = np.full((1, 1), limits.ff, J.dtype)
    found = compute_changes(list(zip(P, p.inputs, strict=True)), noise, limits)
    if not found:
        return False
    steps = zip(layer_matrices(moved, p.shapes), layer_matrices(J.T @ E, p.shapes), found, p.inputs, strict=True)
    for Theta, Delta, change, a in steps:
        Theta += p.step_size[0] * change.move(propagated_errors(a[0], Delta))  # with the new P_l
    return apply_changes(s.w, moved, list(zip(P, found, strict=True)), s.precision_lost, limits)
