"""Gradient projection, layer by layer (survey, (GP)): steps are projected off the span of the layer's earlier inputs.

A layer with n inputs, m outputs and k directions costs 8 k n + 2 n m flops a row for the projected step, since Delta_l
is the layer's input a times a row, and 8 k n for the new direction. Writes the weights and the bases.
"""

import math
from functools import cache
from typing import Any

import numpy as np

from orfit_bench.kernels.layers import layer_fields, layer_matrices, project_off, propagated_errors, used_rows
from orfit_bench.kernels.linalg import ORTHONORMALIZATION_PERIOD
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numba._arrays import Array
from orfit_bench_numba._compile import compiled
from orfit_bench_numba._layered import LayeredRows, Space, Step, move_layer
from orfit_bench_numba._network import multiply_transposed
from orfit_bench_numba._precision_guard import dot
from orfit_bench_numba._products import multiply
from orfit_bench_numba._truncated_basis import reorthonormalize


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """Theta_l <- Theta_l + step (I - U_l'U_l) Delta_l, where Delta_l = a e' is the part of J'E for the layer."""
    w, step = s.w.copy(), p.step_size[0]
    parts = layer_matrices(w, p.shapes), layer_matrices(J.T @ E, p.shapes), layer_fields(s, "basis", p), p.inputs
    for Theta, Delta, basis, a in zip(*parts, strict=True):
        rest, e = project_off(used_rows(basis), a.T), propagated_errors(a[0], Delta)
        Theta += rest @ (step * e)
    if not np.isfinite(w).all():
        return False
    s.w[...] = w
    return True


def store(s: State, J: Any, p: Params) -> None:
    """Add the input a = p.inputs[l] of every layer after the step to its basis U_l."""
    values = _singular_values(s, len(p.inputs))
    for basis, sigma, a in zip(layer_fields(s, "basis", p), values, p.inputs, strict=True):
        take_in(basis, sigma, a[0], p.t)


def for_network(network: Any, d: int, c: int, settings: Any) -> LayeredRows:
    """Update and store for rows of a network; a limited basis is orthonormalized again at certain steps."""
    return LayeredRows(network, d, c, make_step, counts_steps=settings["rank"] is not None)


def make_step(s: State, p: Params, space: Space) -> Step:
    """See `LayeredRows`."""
    bases = [getattr(s, f"basis_{k + 1}") for k in range(len(space.layers))]
    parts = list(zip(space.layers, bases, _singular_values(s, len(bases)), strict=True))
    room = [np.empty_like(layer.a) for layer in space.layers]
    project, move = project_off_basis.entry_point(s.w.dtype), move_layer.entry_point(s.w.dtype)

    def step(x: Array, y: Array, out: Array, size: float, t: int) -> bool:
        if not space.propagate(x, y, out):
            return False
        for (layer, basis, _), r in zip(parts, room, strict=True):
            _, largest, _ = project(basis, layer.a, r)
            move(layer.Theta, layer.changed, r, layer.e, size * largest)
        if not space.accept():
            return False
        if not space.take_in(x):
            space.undo()
            return False
        for layer, basis, sigma in parts:
            take_in(basis, sigma, layer.a, t)
        return True

    return step


def _singular_values(s: State, layers: int) -> list[Array | None]:
    """The singular values of the basis of each layer; None if it is not limited."""
    return [getattr(s, f"singular_values_{k + 1}", None) for k in range(layers)]


def take_in(basis: Array, sigma: Array | None, a: Array, t: int) -> None:
    """U <- [U r/|r|] with r = a - U'U a, or the leading directions if there are singular values.

    Nothing changes for an input whose products overflow: the next step is not finite either, or the layer before is
    flat there. An input that depends on the rows of U adds no direction, but it rotates those of a limited basis.
    """
    q = np.empty_like(a)
    k, largest, share = project_off_basis.entry_point(a.dtype)(basis, a, q)
    least_share, largest_number = limits_of(a.dtype)
    if not largest * math.sqrt(len(a)) <= largest_number:
        return
    is_new = share > least_share
    if is_new:
        q /= math.sqrt(np.vdot(q, q))
    if sigma is not None:
        U, Q = basis[:k], q[None] if is_new else q[None][:0]
        keep_leading(basis, sigma, U, Q, (U @ a)[:, None], (Q @ a)[:, None], t)
    elif is_new and k < len(basis):
        basis[k] = q


@cache
def limits_of(dtype: Any) -> tuple[float, float]:
    """The share of an input off the span of a basis above which it counts as independent, and the largest number."""
    info = np.finfo(dtype)
    return math.sqrt(info.eps), float(info.max)


@compiled("W r w")
def project_off_basis(basis: Array, a: Array, r: Array) -> Any:
    """Compute r <- (a - U'U a) / max |a| for the k rows U before the first row of zeros.

    The projection is applied twice, since one projection leaves eps |a| in the span of U. Returns k, max |a|, and the
    remaining share |r| max |a| / |a| of a. The division prevents over- and underflow of squares; max |a| is NaN if a
    number is NaN.
    """
    (n, d), zero = basis.shape, basis.dtype.type(0)
    k, j = 0, 0
    while k < n and j < d:
        j = 0
        while j < d and basis[k, j] == 0:
            j += 1
        k += j < d
    largest = zero
    for j in range(d):
        largest = largest if abs(a[j]) <= largest or np.isnan(largest) else abs(a[j])
    for j in range(d):
        r[j] = a[j] / largest if largest > 0 else zero
    norm, U, h, along = math.sqrt(dot(r, r)), basis[:k], np.empty(k, basis.dtype), np.empty_like(r)
    for _ in range(2):
        multiply(U, r, h)
        multiply_transposed(U, h, along)
        for j in range(d):
            r[j] -= along[j]
    return k, largest, math.sqrt(dot(r, r)) / norm if norm > 0 else zero


def keep_leading(basis: Array, sigma: Array, U: Array, Q: Array, C: Array, R: Array, t: int) -> None:
    """U, Sigma <- the first `rank` singular vectors and values of [Sigma U; a], a = C'U + R'Q."""
    n, k = len(U), len(U) + len(Q)
    M = np.vstack([np.column_stack([np.diag(sigma[:n]), C]), np.column_stack([np.zeros((len(Q), n)), R])])
    V, values, _ = np.linalg.svd(M.astype(basis.dtype), full_matrices=False)
    if not np.isfinite(values).all():
        return  # same as for products that overflow
    m = min(k, len(basis))
    basis[:m], sigma[:m] = V[:, :m].T @ np.vstack([U, Q]), values[:m]
    if t % ORTHONORMALIZATION_PERIOD == 0:
        reorthonormalize(basis[:m])
