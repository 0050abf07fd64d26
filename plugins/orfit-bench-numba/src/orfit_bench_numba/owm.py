"""Layer-wise RLS (survey, EBP and OWM; our reading): the step of each layer times the RLS matrix of its inputs.

A layer with n inputs and m outputs takes 4 n m + 5 n^2 flops a step and two passes over its P. Nothing of the size of P
is allocated.
"""

from typing import Any

import numpy as np

from orfit_bench.kernels.guards import max_variance_after
from orfit_bench.kernels.layers import layer_fields, layer_matrices, propagated_errors
from orfit_bench_numba._covariance import Array, compute_change, forgetting_limits
from orfit_bench_numba._symmetric import downdate


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """P_l <- (P_l - P_l a a'P_l / (ff + a'P_l a)) / ff,  then Theta_l <- Theta_l + step P_l Delta_l."""
    how, w, found = forgetting_limits(p.forgetting_factor, J.dtype), s.w.copy(), []
    noise = np.full((1, 1), how["ff"], w.dtype)
    parts = layer_matrices(w, p.shapes), layer_matrices(J.T @ E, p.shapes), layer_fields(s, "P", p), p.inputs
    for Theta, Delta, P, a in zip(*parts, strict=True):
        changed = compute_change(P, a, noise, how["least"])
        if changed is None or not max_variance_after(P, changed.V, how["ff"]) < how["most"]:
            return False
        Theta += p.step_size[0] * changed.move(propagated_errors(a[0], Delta))  # by the new P_l
        found.append((P, changed))
    if not np.isfinite(w).all():
        return False
    s.w[...] = w
    for P, changed in found:
        downdate(P, changed.V, how["ff"])
        if changed.lost:
            s.digits_lost[...] = 1
    return True
