"""A metric: a number computed from the record of a cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

from numpy.typing import NDArray

from orfit_bench.spec.data import Data

Direction = Literal["lower", "higher"]
"""Which values of a metric are better."""


TOLERATED = 0.01
"""The relative change that is ignored by default, an effect of the order of additions."""


@dataclass(frozen=True, slots=True)
class Record:
    """The measurements of a finished cell, from which metrics are computed.

    The error on rows depends on the kind of the method: mean squared error (regression, filters), share of wrong
    labels (classification), or mean compression loss |x - C C'x|^2 (subspaces).

    Parameters
    ----------
    data : Data
        What was learned.
    learner : Learner
        The learner after its last row. A metric must not change it; one of a plugin gets a copy.
    seconds : float
        Wall time of learning, without set-up, compilation and evaluation; NaN if cells were not timed.
    rows_learned : int
        Rows learned over all passes and learners.
    rows : array, shape (points,)
        Number of rows learned at each recorded point.
    test_error : array, shape (points,)
        Error on the test set at those points, for regression its square root; NaN without a test set.
    task_error : array, shape (tasks, tasks)
        [i, j]: error on the rows of task j after the last row of task i; NaN for j > i.
    stream_error : float
        Error on all rows of the stream, after the last row.
    a_priori : array, shape (n,), or None
        Squared a-priori errors of the first pass, NaN for missing y; regression and filters only.
    latency : array, shape (calls,)
        Wall time in seconds of calls with a single row, of a learner of its own; empty if cells were not timed.
    host_bytes : float
        Peak bytes allocated by Python and NumPy during a pass, without the data.
    device_bytes : float or None
        Peak bytes of device memory during that pass; None if the backend does not measure it.
    limit : float, optional
        Roofline limit in rows per second, from the declared cost of the method; None if unknown.
    """

    data: Data
    learner: Any
    seconds: float
    rows_learned: int
    rows: NDArray[Any]
    test_error: NDArray[Any]
    task_error: NDArray[Any]
    stream_error: float
    a_priori: NDArray[Any] | None
    latency: NDArray[Any]
    host_bytes: float
    device_bytes: float | None
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class Metric:
    """A number that is computed for every finished cell.

    Parameters
    ----------
    name : str
        Name of a variable of the results; not one of `orfit_bench.spec.result_names`, such as "status" or "seed".
    unit, summary, formula, source : str
        Shown in tables and documents.
    better : {"lower", "higher"}
        Which values are better.
    measure : callable
        measure(record) returns the value, or None if the metric does not apply.
    tolerated : float
        Relative change between two runs that is ignored, as an effect of timing or of the order of additions: 0.05
        ignores a value that is up to 1.05 times as large as the other one, 9 up to ten times, and inf any change.
    floor : float
        Values up to this count as zero: a change between two of them is ignored.
    memory : callable, optional
        memory(record) returns the bytes that `measure` allocates beyond a few numbers per row. Above the memory budget
        of a run, `measure` is not called.

    Examples
    --------
    >>> import numpy as np
    >>> from orfit_bench.spec import Metric
    >>> Metric(
    ...     name="largest_weight",
    ...     unit="",
    ...     summary="largest absolute weight",
    ...     formula="max |w_i|",
    ...     source="",
    ...     better="lower",
    ...     measure=lambda record: float(np.abs(record.learner.array("w")).max()),
    ... ).name
    'largest_weight'
    """

    name: str
    unit: str
    summary: str
    formula: str
    source: str
    better: Direction
    measure: Callable[[Record], float | None]
    tolerated: float = TOLERATED
    floor: float = 0.0
    memory: Callable[[Record], float] | None = None

    def __post_init__(self) -> None:
        """Refuse limits with which values of two runs could not be compared."""
        for name in ("tolerated", "floor"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Real) or not float(value) >= 0:
                raise ValueError(f"metric {self.name!r}: {name}={value!r}, want a number of at least 0")
