"""Layer-wise RLS (survey, EBP and OWM; our reading): the step of each layer times the RLS matrix of its inputs.

A layer with n inputs and m outputs takes 4 n m + 5 n^2 flops a step and two passes over its P. Nothing of the size of P
is allocated.
"""

from typing import Any

import numpy as np

from orfit_bench.kernels.guards import forgetting_limits, keeps_variances_finite
from orfit_bench.kernels.layers import layer_fields, layer_matrices, propagated_errors
from orfit_bench_numba._arrays import Array
from orfit_bench_numba._covariance import compute_change
from orfit_bench_numba._symmetric import downdate


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """P_l <- (P_l - P_l a a'P_l / (ff + a'P_l a)) / ff,  then Theta_l <- Theta_l + step P_l Delta_l."""
    limits, w, found = forgetting_limits(p.forgetting_factor, J.dtype), s.w.copy(), []
    noise = np.full((1, 1), limits.ff, w.dtype)
    parts = layer_matrices(w, p.shapes), layer_matrices(J.T @ E, p.shapes), layer_fields(s, "P", p), p.inputs
    for Theta, Delta, P, a in zip(*parts, strict=True):
        change = compute_change(P, np.diagonal(P), a, noise, limits)
        if change is None or not keeps_variances_finite(P, change.V, limits):
            return False
        Theta += p.step_size[0] * change.move(propagated_errors(a[0], Delta))  # with the new P_l
        found.append((P, change))
    if not np.isfinite(w).all():
        return False
    s.w[...] = w
    for P, change in found:
        downdate(P, change.V, limits.ff)
        if change.degraded:
            s.precision_lost[...] = 1
    return True
