"""Gradient projection, layer by layer (survey, (GP)): step off the span of what the layer took in so far."""

from typing import Any

from orfit_bench_cupy._host import Array, fetch, on_host
from orfit_bench_numba import gp


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """Theta_l <- Theta_l + step (I - U_l U_l') Delta_l, Delta_l the layer's part of J'E."""
    return bool(on_host(s, lambda t, j, e: gp.update(t, j, e, p), J, E))


def store(s: Any, J: Any, p: Any) -> None:
    """U_l takes in what layer l takes in after the step, a = p.inputs[l]."""
    here = p._replace(inputs=tuple(fetch(*p.inputs)))
    on_host(s, lambda t: gp.store(t, None, here))
