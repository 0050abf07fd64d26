"""Sums of error matrices over runs, E[run, i, j] being the error on task j after task i, as in the survey's metrics."""

from __future__ import annotations

import numpy as np

from orfit_bench.spec.stream import Array


def forgetting(E: Array) -> Array:
    """(runs,) F_T, the mean growth of the error on all tasks but the last, from when each was learned to the end."""
    return np.asarray((E[:, -1, :-1] - own(E)[:, :-1]).mean(axis=1))


def own(E: Array) -> Array:
    """(runs, tasks) the error on each task just after it was learned."""
    return np.diagonal(E, axis1=1, axis2=2)
