"""Layer-wise RLS, declared in `orfit_bench/catalogue/methods/owm.py` (survey, EBP and OWM, as interpreted here).

Shapes of a layer with n inputs and m outputs: Theta (n, m), Delta (n, m), P (n, n), its input a (1, n).
"""

import numpy as np

from orfit_bench.kernels.guards import (
    factor_covariance,
    forgetting_limits,
    is_finite,
    keeps_variances_finite,
    solve_lower,
)
from orfit_bench.kernels.layers import layer_fields, layer_matrices, propagated_errors
from orfit_bench.kernels.loops import Array
from orfit_bench.spec.kernel_arguments import Params, State


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """Take one step in all layers: Theta + step P_new Delta, where P_new is the new P of the inputs of the layer.

    P_new a = P a / S with S = ff + a'P a, so P_new Delta = P a S^-1 e' for Delta = a e'. Thus P_new is not needed.
    """
    w, ff, updates = s.w.copy(), p.forgetting_factor, []
    R, limits = np.full((1, 1), ff, w.dtype), forgetting_limits(ff, w.dtype)
    gradient_step = J.T @ E  # descent on |y - f|^2 / 2 with step 1
    thetas, deltas = layer_matrices(w, p.shapes), layer_matrices(gradient_step, p.shapes)
    for Theta, Delta, P, a in zip(thetas, deltas, layer_fields(s, "P", p), p.inputs, strict=True):
        S = a @ (U := P @ a.T) + R  # (1, 1): ff + a'P a
        factor = factor_covariance(np.diagonal(P), a, S, R, limits)
        if factor is None:
            return False
        V = solve_lower(factor.L, U.T)  # (1, n): V'V = P a a'P / (ff + a'P a)
        if not keeps_variances_finite(P, V, limits):
            return False
        # Theta + step P a S^-1 e'
        Theta += p.step_size[0] * (V.T @ solve_lower(factor.L, propagated_errors(a[0], Delta)))
        updates.append((P, V, factor.degraded))
    if not is_finite(w):
        return False
    s.w[...] = w
    for P, V, degraded in updates:
        P -= V.T @ V  # P_l <- (P_l - P_l a a'P_l / (ff + a'P_l a)) / ff
        if ff != 1:
            P /= ff
        if degraded:
            s.precision_lost[...] = 1
    return True
