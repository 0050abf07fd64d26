"""A metric: one number that tells how well a learner did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from orfit_bench.spec.stream import Data


@dataclass(frozen=True, slots=True)
class Record:
    """What one finished cell recorded, for metrics to read."""

    data: Data
    learner: Any
    """The learner after its last row."""
    seconds: float
    """Wall time of learning alone: without set-up, compilation and evaluation."""
    rows_learned: int
    """Rows learned over all passes and learners."""
    rows: NDArray[Any]
    """(points,) how many rows had been learned at each recorded point."""
    test_error: NDArray[Any]
    """(points,) root mean squared error on the test set at those points; NaN where there is no test set."""
    task_error: NDArray[Any]
    """(tasks, tasks) [i, j]: mean squared error on the rows of task j after the last row of task i; NaN for j > i."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A named number. `measure` returns it for a finished cell, or None where it does not apply."""

    name: str
    unit: str
    summary: str
    formula: str
    source: str
    better: str
    """ "lower" or "higher"."""
    measure: Callable[[Record], float | None]
