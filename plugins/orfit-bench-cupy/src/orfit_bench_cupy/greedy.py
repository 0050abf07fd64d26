"""Greedy: predict the last target (thesis, section 5.1)."""

from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_cupy._transfers import Array


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """For each row: predict `last`, then last <- y."""
    if out is not None:
        out[0], out[1:] = s.last, Y[:-1]
    s.last[...] = Y[-1]
    return len(X)
