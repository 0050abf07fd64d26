"""Layer-wise RLS (survey, EBP and OWM; a reading): each layer's step times the RLS matrix of what it takes in.

A step takes 4 n m flops and 5 n^2 for a layer of n inputs and m outputs, and passes twice over its P. Nothing of the
size of P is allocated.
"""

from typing import Any

import numpy as np

from orfit_bench_numba._covariance import Array, change, forgetting, highest
from orfit_bench_numba._layers import layers, matrices
from orfit_bench_numba._symmetric import take_off


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """P_l <- (P_l - P_l a a'P_l / (ff + a'P_l a)) / ff,  then Theta_l <- Theta_l + step P_l Delta_l."""
    how, w, found = forgetting(p.forgetting_factor, J.dtype), s.w.copy(), []
    noise = np.full((1, 1), how["ff"], w.dtype)
    parts = matrices(w, p.shapes), matrices(J.T @ E, p.shapes), layers(s, "P", p), p.inputs
    for Theta, Delta, P, a in zip(*parts, strict=True):
        changed = change(P, a, noise, how["least"])
        if changed is None or not highest(P, changed.V, how["ff"]) < how["most"]:
            return False
        Theta += p.step_size[0] * changed.move(propagated(a[0], Delta))  # by the new P_l
        found.append((P, changed))
    if not np.isfinite(w).all():
        return False
    s.w[...] = w
    for P, changed in found:
        take_off(P, changed.V, how["ff"])
        if changed.lost:
            s.digits_lost[...] = 1
    return True


def propagated(a: Array, Delta: Array) -> Array:
    """The errors (1, m) propagated back to the layer's outputs: Delta = a times them."""
    i = np.argmax(np.abs(a))
    row = Delta[i : i + 1]
    return row / a[i] if a[i] else row  # nothing taken in: no step
