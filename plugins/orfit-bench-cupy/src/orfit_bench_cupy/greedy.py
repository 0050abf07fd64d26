"""Greedy: predict the last label (thesis, section 5.1)."""

from typing import Any

from orfit_bench_cupy._transfers import Array


def learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
    """For each row: predict `last`, then last <- y."""
    if out is not None:
        out[0], out[1:] = s.last, Y[:-1]
    s.last[...] = Y[-1]
    return len(X)
