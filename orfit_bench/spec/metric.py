"""A metric: one number that tells how well a learner did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import NDArray

from orfit_bench.spec.stream import Data


@dataclass(frozen=True, slots=True)
class Record:
    """What one finished cell recorded, for metrics to read.

    An error on rows is, by the learner's `method.kind`, their mean squared error (numbers, filters), the share of wrong
    labels, or the mean compression loss |x - C C'x|^2 (subspaces).
    """

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
    """(points,) error on the test set at those points, of numbers its root; NaN where there is no test set."""
    task_error: NDArray[Any]
    """(tasks, tasks) [i, j]: error on the rows of task j after the last row of task i; NaN for j > i."""
    stream_error: float
    """Error of the learner, after its last row, on all rows of the stream."""
    a_priori: NDArray[Any] | None
    """(n,) squared error on each row of the first pass just before its step, NaN where y is; numbers and filters."""
    latency: NDArray[Any]
    """(calls,) wall time of calls that bring a single row, to a learner that learns nothing else."""
    host_bytes: float
    """Most bytes that Python and NumPy held during a pass beyond the data: the state and what is passing."""
    device_bytes: float | None
    """Most bytes of the backend's device in use during that pass; None where the backend does not say."""
    limit: float | None = None
    """Rows a second that the machine allows, by the method's declared cost; None where that is not known."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A named number. `measure` returns it for a finished cell, or None where it does not apply."""

    name: str
    unit: str
    summary: str
    formula: str
    source: str
    better: Literal["lower", "higher"]
    measure: Callable[[Record], float | None]
    tolerated: float = 0.01
    """The relative change between two runs that is none: what the clock or the order of additions brings."""
    floor: float = 0.0
    """Numbers up to this are as good as zero, and a change between two of them is none."""
    memory: Callable[[Record], float] | None = None
    """Bytes that `measure` allocates beyond a few numbers a row. Above the memory budget of a run, it is not called."""
