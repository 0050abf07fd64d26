"""Layer-wise RLS (survey, EBP and OWM; a reading): each layer's step times the RLS matrix of what it takes in."""

from typing import Any

import numpy as np

from orfit_bench_numpy._algebra import Array, finite
from orfit_bench_numpy._covariance import change, overflows, shrink
from orfit_bench_numpy._layers import matrices, of_layers


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """P_l <- (P_l - P_l a a'P_l / (ff + a'P_l a)) / ff,  then Theta_l <- Theta_l + step P_l Delta_l."""
    w, step, ff = s.w.copy(), p.step_size[0], p.forgetting_factor
    noise = np.full((1, 1), ff, w.dtype)
    found = []
    layers = zip(matrices(w, p.shapes), matrices(J.T @ E, p.shapes), of_layers(s, "P", p), p.inputs, strict=True)
    for Theta, Delta, P, a in layers:
        changed = change(P, a, propagated(a[0], Delta), noise)  # its move is P_l Delta_l with the new P_l
        if changed is None or overflows(P, changed.V, ff):
            return False
        Theta += step * changed.move
        found.append(changed)
    if not finite(w):
        return False
    s.w[...] = w
    for P, changed in zip(of_layers(s, "P", p), found, strict=True):
        shrink(P, changed.V, ff)
        if changed.lost:
            s.precision_lost[...] = 1
    return True


def propagated(a: Array, Delta: Array) -> Array:
    """The errors (1, m) propagated back to the layer's outputs: Delta = a times them."""
    i = np.argmax(np.abs(a))
    row = Delta[i : i + 1]
    return row / a[i] if a[i] else row  # nothing taken in: no step
