"""Gradient projection, layer by layer (survey, (GP)): step off the span of what the layer took in so far."""

from typing import Any

from orfit_bench_numpy._algebra import Array, bounded, finite, leading, new_directions
from orfit_bench_numpy._layers import filled, matrices, of_layers, off


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """Theta_l <- Theta_l + step (I - U_l U_l') Delta_l, Delta_l the layer's part of J'E."""
    w, step = s.w.copy(), p.step_size[0]
    layers = zip(matrices(w, p.shapes), matrices(J.T @ E, p.shapes), of_layers(s, "basis", p), strict=True)
    for Theta, Delta, basis in layers:
        Theta += step * off(filled(basis), Delta)
    if not finite(w):
        return False
    s.w[...] = w
    return True


def store(s: Any, J: Any, p: Any) -> None:
    """U_l takes in what layer l takes in after the step, a = p.inputs[l]."""
    low_rank = hasattr(s, "singular_values_1")
    values = of_layers(s, "singular_values", p) if low_rank else [None] * len(p.inputs)
    for basis, sigma, a in zip(of_layers(s, "basis", p), values, p.inputs, strict=True):
        if bounded(a):  # else the next step is not finite either, or the layer before is flat there
            if sigma is None:
                extend(basis, a)
            else:
                approximate(basis, sigma, a, p.t)


def extend(basis: Array, a: Array) -> None:
    """U <- [U r/|r|], r = a - U U'a."""
    k = len(filled(basis))
    Q, _ = new_directions(basis[:k].T, a.T)
    basis[k : k + Q.shape[1]] = Q.T


def approximate(basis: Array, sigma: Array, a: Array, t: int) -> None:
    """U, Sigma <- the first `rank` singular vectors and values of [U Sigma, a]."""
    U = filled(basis).T
    Q, R = new_directions(U, a.T)
    U, values = leading(U, sigma[: U.shape[1]], Q, R, a.T, len(basis), t)
    basis[: len(values)], sigma[: len(values)] = U.T, values
