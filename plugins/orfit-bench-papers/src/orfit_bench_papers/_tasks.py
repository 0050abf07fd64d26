"""Sums of error matrices over runs, where E[run, i, j] is the error on task j after task i, as in the survey."""

from __future__ import annotations

import numpy as np

from orfit_bench.spec.data import Array


def forgetting(E: Array) -> Array:
    """F_T (runs,), the mean increase of the error on all tasks but the last, since each was learned."""
    return np.asarray((E[:, -1, :-1] - own(E)[:, :-1]).mean(axis=1))


def own(E: Array) -> Array:
    """The error on each task just after it was learned (runs, tasks)."""
    return np.diagonal(E, axis1=1, axis2=2)
