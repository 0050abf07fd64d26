"""Fleets of rls and class_rls: each member reads and writes its own P (d, d), 2 d^2 numbers of memory traffic per call.

A row for which P clearly keeps its digits is learned as in `_few_features`, all others as in `_covariance_row`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.kernels.fleets import make_fleet_learn
from orfit_bench.kernels.guards import MAX_GROWING_ERROR, Limits
from orfit_bench.spec.kernel_arguments import FleetParams, State
from orfit_bench_numba._arrays import Array, BoundRows, Indices, Scalar
from orfit_bench_numba._compile import compiled, inline
from orfit_bench_numba._covariance import MIN_FEATURES
from orfit_bench_numba._covariance_row import apply_row
from orfit_bench_numba._few_features import inner_products, update
from orfit_bench_numba._finite import NOT_FINITE, is_finite, is_small_step, is_step_finite
from orfit_bench_numba._fleets import by_output, on_threads, store_by_output, useful_threads
from orfit_bench_numba._precision_guard import accepted_variances, dot, is_clearly_safe
from orfit_bench_numba._products import add_multiple, multiply, sum_diagonal


@compiled("M M R R I I r w I W i i")
def learn_members(
    P: Array,
    W: Array,
    X: Array,
    Y: Array,
    members: Indices,
    starts: Indices,
    ff: Array,
    degraded: Array,
    learned: Indices,
    out: Array,
    begin: int,
    end: int,
) -> None:
    """Learn the rows of members[begin:end] with these forgetting factors; counts them in `learned`.

    W (N, c, d) contains the weights by output. A member stops before a row that is refused.
    """
    one: Any = P.dtype.type(1)
    largest: Any = np.finfo(P.dtype).max / 4
    z, u = np.empty(W.shape[1], P.dtype), np.empty(W.shape[2], P.dtype)
    for j in range(begin, end):
        i, factor = members[j], ff[j]
        max_error: Any = P.dtype.type(MAX_GROWING_ERROR) if factor < 1 else one
        limits = Limits(factor, max_error, max_error, largest)
        least, most = accepted_variances(factor)
        for t in range(starts[j], starts[j + 1]):
            safe, f, s, size = measure_row(P[i], X[t], u, W[i, 0], factor, least, most)
            for k in range(len(z)):
                if k:
                    f = dot(X[t], W[i, k])
                if len(out):
                    out[t, k] = f
                z[k] = Y[t, k] - f
            if safe:
                if not move_weights(W[i], z, u, s, size):
                    break
                update(P[i], W[i, 0], u, z[0] / s, one / s, one / factor)
            elif not apply_row(P[i], W[i], X[t], z, factor, factor, limits, degraded[i : i + 1]):
                break
            learned[j] += 1


@inline
def measure_row(P: Array, x: Array, u: Array, w: Array, ff: Scalar, least: Scalar, most: Scalar) -> Any:
    """Compute u <- P x; returns whether the row is clearly safe, f = x'w, s = ff + x'P x, and an upper bound of |u|^2.

    By Cauchy-Schwarz u_i^2 <= P_ii x'P x, so |u|^2 <= trace(P) x'P x. The bound uses s instead of the rounded x'P x.
    """
    multiply(P, x, u)  # reads P in order, so before its diagonal
    trace = sum_diagonal(P)
    along, f, energy = inner_products(x, u, w)
    s = ff + along
    is_safe = is_clearly_safe(energy, trace, s, min(w.dtype.type(1), ff)) and least <= s <= most
    return is_safe, f, s, trace * s


@inline
def move_weights(W: Array, z: Array, u: Array, s: Scalar, size: Scalar) -> Any:
    """Add u z_k / s to w for all outputs except the first, whose weights `update` changes; |u|^2 is at most `size`.

    If a weight would not be finite, including those of the first output, change nothing and return False.
    """
    for k in range(len(z)):
        if not (is_small_step(z[k] / s, size) or is_step_finite(W[k], z[k] / s, u)):
            return False
    for k in range(1, len(z)):
        add_multiple(W[k], z[k] / s, u)
    return True


@compiled("M W C R r W")
def learn_row_each(P: Array, W: Array, X: Array, Y: Array, ff: Array, out: Array) -> Any:
    """Learn a row X (N, 1, d) with a target Y (N, 1) for each member; W (N, d). See `Kernel.bind_members`.

    Returns how many members learned: those before the first whose row is not clearly safe, or could make weights
    infinite.
    """
    if not (is_finite(X.reshape(-1)) and is_finite(Y.reshape(-1))):
        return NOT_FINITE
    one, u = P.dtype.type(1), np.empty(W.shape[1], P.dtype)
    for i in range(len(P)):
        least, most = accepted_variances(ff[i])
        safe, f, s, size = measure_row(P[i], X[i, 0], u, W[i], ff[i], least, most)
        z = (Y[i, 0] - f) / s
        if len(out):
            out[i, 0] = f
        if not (safe and is_small_step(z, size)):
            return i
        update(P[i], W[i], u, z, one / s, one / ff[i])
    return len(P)


def operations(n: int, d: int) -> float:
    """The number of operations for n rows with d features."""
    return 3.0 * n * d * d


def bind_members(s: State, p: FleetParams) -> BoundRows | None:
    """`bind_members` of rls: None if no P is stored, for several outputs, and if blocks or threads are faster."""
    size, d, outputs = s.w.shape
    if not hasattr(s, "P") or outputs > 1 or d >= MIN_FEATURES or useful_threads(operations(size, d)) > 1:
        return None
    ff = p.forgetting_factor.astype(s.P.dtype)
    entry, w = learn_row_each.entry_point(s.P.dtype), s.w.reshape(size, d)
    return lambda X, Y, out: entry(s.P, w, X, Y, ff, out)


def make_covariance_fleet_learn(learn: Any) -> Any:
    """Make `fleet_learn` of rls and class_rls; it calls `learn` per member if that uses blocks or stores no P."""
    one_by_one = make_fleet_learn(learn)

    def fleet_learn(s: State, X: Array, Y: Array, p: FleetParams, out: Array | None) -> Indices:
        if not hasattr(s, "P") or X.shape[1] >= MIN_FEATURES:
            found: Indices = one_by_one(s, X, Y, p, out)
            return found
        learned = np.zeros(len(p.members), np.int64)
        W = by_output(s.w, p.members)
        ff = p.forgetting_factor.astype(X.dtype)
        predictions = np.empty((0, Y.shape[1]), X.dtype) if out is None else out
        parts = s.P, W, X, Y, p.members, p.starts, ff, s.precision_lost, learned, predictions
        on_threads(lambda begin, end: learn_members(*parts, begin, end), len(learned), operations(len(X), X.shape[1]))
        store_by_output(s.w, W, p.members)
        return learned

    return fleet_learn
