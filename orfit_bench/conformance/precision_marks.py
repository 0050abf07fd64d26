"""The mark in a state for the loss of half of the digits, and rows that cause it."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import host_arrays_of
from orfit_bench.conformance.rows import Chunk

FIRST, GROWING = 3, 10
"""Number of rows of ordinary size, and of rows that grow until digits are lost or a row is refused."""
GROWTH = 2.0**3
"""The growth factor from row to row."""


def needs_mark(context: CheckContext) -> str:
    """The state must have a mark of lost precision."""
    warning = context.method.state.warning
    return "" if warning and warning.field in context.method.state.names else "the state has no mark of lost precision"


def mark_of(context: CheckContext, learner: Any) -> float | None:
    """The mark of a learner; None if its state has none."""
    warning, arrays = context.method.state.warning, host_arrays_of(learner)
    return float(arrays[warning.field]) if warning and warning.field in arrays else None


def with_growing_rows(context: CheckContext, chunk: Chunk, growth: float = GROWTH) -> Chunk:
    """FIRST + GROWING rows; the rows after the first FIRST grow."""
    X = np.array(chunk.X)
    for i in range(GROWING):
        X[FIRST + i] *= X.dtype.type(min(growth ** (i + 1), float(np.finfo(context.dtype).max) ** 0.25))
    return chunk.with_rows(X)
