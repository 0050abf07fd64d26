"""Greedy: predict the last label (thesis, section 5.1)."""

from typing import Any

from orfit_bench_numpy._algebra import Array


def learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
    """last <- y."""
    if out is not None:
        out[0] = s.last
        out[1:] = Y[:-1]
    s.last[...] = Y[-1]
    return len(X)
