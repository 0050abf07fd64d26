"""Layer-wise RLS (survey, EBP and OWM; a reading): each layer's step times the RLS matrix of what it takes in."""

from typing import Any

from orfit_bench_cupy._host import Array, fetch, on_host
from orfit_bench_numba import owm


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """P_l <- (P_l - P_l a a'P_l / (ff + a'P_l a)) / ff,  then Theta_l <- Theta_l + step P_l Delta_l."""
    here = p._replace(inputs=tuple(fetch(*p.inputs)))
    return bool(on_host(s, lambda t, j, e: owm.update(t, j, e, here), J, E))
