"""RLS on one-hot targets (survey, D-RLS): one column of w a class, all of them with one P."""

from typing import Any

from orfit_bench_cupy._host import Array, on_host
from orfit_bench_cupy.rls import learn
from orfit_bench_numba import class_rls

__all__ = ["learn", "step"]


def step(s: Any, A: Array, Y: Array, p: Any) -> bool:
    """All rows of A as one step: K = P A'(ff I + A P A')^-1,  w <- w + K E,  P <- (P - K A P) / ff."""
    return bool(on_host(s, lambda t, a, y: class_rls.step(t, a, y, p), A, Y))
