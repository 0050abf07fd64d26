"""Gradient projection, layer by layer (survey, (GP)): steps are projected off the span of the layer's earlier inputs.

Unused rows of a basis are zero and are part of every product, so that the host need not know how many are used. To add
an input to its basis, the host fetches a few numbers for all layers in one transfer.
"""

import math
from typing import Any

import numpy as np

from orfit_bench.kernels.layers import layer_fields, layer_matrices, project_off
from orfit_bench.kernels.linalg import ORTHONORMALIZATION_PERIOD
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_cupy._transfers import Array, Host, fetch, invert_lower, is_finite


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """Theta_l <- Theta_l + step (I - U_l'U_l) Delta_l, where Delta_l is the part of J'E for the layer."""
    w, step = s.w.copy(), p.step_size[0]
    parts = zip(
        layer_matrices(w, p.shapes), layer_matrices(J.T @ E, p.shapes), layer_fields(s, "basis", p), strict=True
    )
    for Theta, Delta, U in parts:
        Theta += step * project_off(U, Delta)
    if not is_finite(w):
        return False
    s.w[...] = w
    return True


def store(s: State, J: Any, p: Params) -> None:
    """Add the input a = p.inputs[l] of every layer after the step to its basis U_l."""
    bases, limited = layer_fields(s, "basis", p), hasattr(s, "singular_values_1")
    values = layer_fields(s, "singular_values", p) if limited else []
    rests, numbers = zip(*(measure_rest(U, a[0]) for U, a in zip(bases, p.inputs, strict=True)), strict=True)
    along = [U @ a[0] for U, a in zip(bases, p.inputs, strict=True)] if limited else []
    found = fetch(*numbers, *values, *along)
    for k, (basis, r) in enumerate(zip(bases, rests, strict=True)):
        size, length, rest, product, used = found[k]
        if not np.isfinite(size * math.sqrt(len(r))):
            continue  # then the next step is not finite either, or the previous layer is constant there
        new, n = bool(rest > math.sqrt(np.finfo(r.dtype).eps) * length), int(used)
        q = r[None, :][:new] / rest
        if limited:
            was, C = found[k + len(bases) :: len(bases)]
            keep_leading(basis, values[k], q, was[:n], C[:n], size * product / rest, p.t)
        elif new and n < len(basis):
            basis[n] = q[0]


def measure_rest(U: Array, a: Array) -> tuple[Array, Array]:
    """The part r of g = a / max |a| orthogonal to U; and max |a|, |g|, |r|, r'g, and the number of used rows of U."""
    xp = U.__array_namespace__()
    size = xp.max(xp.abs(a))
    g = a / xp.where(size > 0, size, 1)
    r = project_off(U, g[:, None])[:, 0]
    used = xp.count_nonzero(U.any(axis=1)).astype(a.dtype)
    return r, xp.stack([size, xp.sqrt(g @ g), xp.sqrt(r @ r), r @ g, used])


def keep_leading(basis: Array, sigma: Array, q: Array, was: Host, C: Host, R: Any, t: int) -> None:
    """U, Sigma <- the first `rank` singular vectors and values of [Sigma U; a], a = C'U + R q, for len(was) rows of U.

    q (0 or 1, n) is empty if a adds no direction.
    """
    n, xp = len(was), basis.__array_namespace__()
    M = np.zeros((n + len(q), n + 1), was.dtype)
    M[:n, :n], M[:n, n], M[n:, n] = np.diag(was), C, R
    if not np.isfinite(M).all():  # as for an input that is not bounded; LAPACK might not return
        return
    V, values, _ = np.linalg.svd(M, full_matrices=False)
    if not np.isfinite(values).all():
        return
    m = min(len(M), len(basis))
    U = xp.asarray(V[:, :m].T) @ xp.concatenate([basis[:n], q])
    if t % ORTHONORMALIZATION_PERIOD == 0:  # make U orthonormal to rounding again; U U' is close to I
        U = xp.asarray(invert_lower(np.linalg.cholesky(fetch(U @ U.T)[0]))) @ U
    basis[:m], sigma[:m] = U, xp.asarray(values[:m])
