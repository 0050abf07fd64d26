"""LMS (survey, eq. 2)."""

from typing import Any

from orfit_bench_numpy._algebra import Array, by_rows, finite


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """w <- w + step J'E."""
    w = s.w + p.step_size[0] * J.T.dot(E)
    if not finite(w):
        return False
    s.w[...] = w
    return True


learn = by_rows(update)
