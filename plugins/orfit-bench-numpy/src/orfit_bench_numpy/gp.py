"""Gradient projection, declared in `orfit_bench/catalogue/methods/gp.py` (survey, (GP) and its low-rank version).

Shapes of a layer with n inputs and m outputs: Theta (n, m), Delta (n, m), U' (k, n) in `basis`, its input a (1, n).
"""

from typing import Any

from orfit_bench.kernels.guards import is_bounded, is_finite
from orfit_bench.kernels.layers import layer_fields, layer_matrices, project_off, used_rows
from orfit_bench.kernels.loops import Array
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numpy._gram_schmidt import new_directions
from orfit_bench_numpy._incremental_svd import Extended, leading_singular_vectors


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """Take one step in all layers, each projected off the span of the layer's earlier inputs."""
    w = s.w.copy()
    gradient_step = J.T @ E  # descent on |y - f|^2 / 2 with step 1
    thetas, deltas = layer_matrices(w, p.shapes), layer_matrices(gradient_step, p.shapes)
    for Theta, Delta, basis in zip(thetas, deltas, layer_fields(s, "basis", p), strict=True):
        Theta += p.step_size[0] * project_off(used_rows(basis), Delta)  # (GP): Theta_l + step (I - U_l U_l') Delta_l
    if not is_finite(w):
        return False
    s.w[...] = w
    return True


def store(s: State, J: Any, p: Params) -> None:
    """Add a = p.inputs[l], the input of layer l after the step, to every U_l."""
    has_rank = hasattr(s, "singular_values_1")
    values = layer_fields(s, "singular_values", p) if has_rank else [None] * len(p.inputs)
    for basis, sigma, a in zip(layer_fields(s, "basis", p), values, p.inputs, strict=True):
        if is_bounded(a):  # otherwise the next step is not finite either, or the layer before is flat there
            if sigma is None:
                extend(basis, a)
            else:
                approximate(basis, sigma, a, p.t)


def extend(basis: Array, a: Array) -> None:
    """U <- [U r/|r|] with r = a - U U'a."""
    k = len(used_rows(basis))
    Q, _ = new_directions(basis[:k].T, a.T)
    basis[k : k + Q.shape[1]] = Q.T


def approximate(basis: Array, sigma: Array, a: Array, t: int) -> None:
    """U, Sigma <- the first `rank` singular vectors and values of [U Sigma, a] (thesis, eq. (3.3) and (3.4))."""
    U = used_rows(basis).T
    Q, R = new_directions(U, a.T)
    U, values = leading_singular_vectors(Extended(U, sigma[: U.shape[1]], Q, R, a.T), len(basis), t)
    if not is_finite(values):  # same as for an input that is not bounded
        return
    basis[: len(values)], sigma[: len(values)] = U.T, values
