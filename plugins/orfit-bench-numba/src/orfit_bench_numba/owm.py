"""Layer-wise RLS (survey, EBP and OWM, as interpreted here): the step of each layer times the RLS matrix of its inputs.

A layer with n inputs and m outputs takes 4 n m + 5 n^2 flops per step and two passes over its P. No array of the size
of P is allocated.
"""

from typing import Any

import numpy as np

from orfit_bench.kernels.guards import DEGRADED, REFUSED, Limits, forgetting_limits, keeps_variances_finite
from orfit_bench.kernels.layers import layer_fields, layer_matrices, propagated_errors
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled
from orfit_bench_numba._covariance import compute_change
from orfit_bench_numba._covariance_row import downdate_by_row, multiply_symmetric
from orfit_bench_numba._layered import LayeredRows, Space, Step, move_layer
from orfit_bench_numba._precision_guard import judge_row
from orfit_bench_numba._symmetric import downdate


def update(s: State, J: Array, E: Array, p: Params) -> bool:
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


def for_network(network: Any, d: int, c: int, settings: Any) -> LayeredRows:
    """The rule for rows of a network."""
    return LayeredRows(network, d, c, make_step)


def make_step(s: State, p: Params, space: Space) -> Step:
    """See `LayeredRows`."""
    dtype = s.w.dtype
    limits = tuple(map(float, forgetting_limits(p.forgetting_factor, dtype)))
    weigh, move, by = weigh_layer.entry_point(dtype), move_layer.entry_point(dtype), 1 / limits[0]
    downdate_layer = downdate_by.entry_point(dtype)
    covariances = [getattr(s, f"P_{k + 1}") for k in range(len(space.layers))]
    parts = [(layer, P, np.empty(len(P), dtype)) for layer, P in zip(space.layers, covariances, strict=True)]

    def step(x: Array, y: Array, out: Array, size: float, t: int) -> bool:
        if not space.propagate(x, y, out):
            return False
        degraded = False
        for layer, P, v in parts:
            verdict, gain = weigh(P, layer.a, v, limits)
            if verdict == REFUSED:
                return False
            degraded |= verdict == DEGRADED
            move(layer.Theta, layer.changed, v, layer.e, size * gain)  # P_new a = P a / (ff + a'P a)
        if not space.accept():
            return False
        for _, P, v in parts:
            downdate_layer(P, v, by)
        if degraded:
            s.precision_lost[...] = 1
        return True

    return step


@compiled("W r w (f f f f)")
def weigh_layer(P: Array, a: Array, v: Array, limits: Limits) -> Any:
    """Compute v <- P a / sqrt(ff + a'P a); returns the verdict on the layer, and the reciprocal of the square root."""
    given, n = Limits(*limits), len(a)
    one, trace = P.dtype.type(1), P.dtype.type(0)
    u, diagonal = np.empty(n, P.dtype), np.empty(n, P.dtype)
    for j in range(n):
        diagonal[j] = P[j, j]
        trace += abs(P[j, j])
    multiply_symmetric(P, a, u)
    verdict, gain, highest = judge_row(a, u, v, diagonal, trace, given.ff, given.ff, one, given)
    return (verdict if highest < given.max_variance else REFUSED), gain


@compiled("W r f")
def downdate_by(P: Array, v: Array, by: Scalar) -> None:
    """Compute P <- (P - v v') by."""
    downdate_by_row(P, v, by)
