"""A cell: the description of one measurement and its record, both as JSON values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from orfit_bench.bench import learning, measuring, models, roofline
from orfit_bench.bench.evaluation import evaluate
from orfit_bench.bench.preprocessing import preprocess
from orfit_bench.bench.protocol import Protocol
from orfit_bench.bench.selection import find_stream
from orfit_bench.bench.views import read_only
from orfit_bench.errors import UnavailableError
from orfit_bench.jobs.keys import make_array_key, make_key
from orfit_bench.jobs.notes import collect_notes, describe_error, one_line
from orfit_bench.jobs.phases import phase
from orfit_bench.learners.factory import create
from orfit_bench.plugins.registry import registry
from orfit_bench.sampling import depends_on_seed, with_sampling
from orfit_bench.spec import Data, Record
from orfit_bench.spec.data import RowsAndTargets
from orfit_bench.tables.columns import is_table

Status = Literal["ok", "failed", "timeout", "crashed", "absent"]
GOOD: tuple[Status, ...] = ("ok", "absent")
"""Statuses of cells that need no attention."""
FAILURES: tuple[Status, ...] = ("failed", "timeout", "crashed")

MEMORY_BUDGET = 1e9
"""Number of bytes that each metric may allocate."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The description of one measurement.

    Parameters
    ----------
    method, backend, stream : str
        Names of declarations.
    settings, stream_settings : mapping
        Settings as JSON values; the sizes n and d are settings of the stream.
    seed : int
        The `random_state` of the learner, and the seed of the stream if it has one.
    dtype : str
        "float64" or "float32".
    protocol : Protocol
        How the stream is learned: passes, learners and preprocessing.
    model : mapping
        {} for the linear model, {"hidden": [32], ...} for a multilayer perceptron.

    Examples
    --------
    >>> run_cell(Cell("lms", "numpy", "regression", stream_settings={"n": 50}))["status"]
    'ok'
    """

    method: str
    backend: str
    stream: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    stream_settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    dtype: str = "float64"
    protocol: Protocol = field(default_factory=Protocol)
    model: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """A hash of the description, equal in every process."""
        cell = asdict(self)
        # preprocessing that is off, and added settings at their defaults, are left out: older results keep their keys
        cell["protocol"] = {name: value for name, value in cell["protocol"].items() if value is not False}
        method = registry().methods.get(self.method)
        later = {s.name: s.default for s in (method.settings if method else ()) if s.added}
        cell["settings"] = {n: v for n, v in cell["settings"].items() if n not in later or v != later[n]}
        return make_key(cell)

    def data(self) -> Data:
        """Load the data. Raises ValueError for an impossible size, UnavailableError if the data are missing."""
        stream = with_sampling(find_stream(self.stream))
        if reason := stream.reason:
            raise UnavailableError(reason)
        seeded = {"seed": self.seed} if any(s.name == "seed" for s in stream.settings) else {}
        supplier = registry().suppliers.get(("streams", stream.name), "")
        with phase(f"it loaded the stream {stream.name}{supplier and f' of {supplier}'}"):
            data = stream.load(**self.stream_settings, **seeded)
        return _read_only(preprocess(data, self.protocol.standardise, self.protocol.intercept))

    def create(self) -> Any:
        """Create a learner."""
        return create(
            self.method,
            backend=self.backend,
            dtype=self.dtype,
            random_state=self.seed,
            model=models.build(self.model),
            **dict(self.settings),
        )


def _read_only(data: Data) -> Data:
    """Views of the data that raise an error if a kernel writes to them; the arrays of the stream stay writable."""

    def pair(rows: RowsAndTargets | None) -> RowsAndTargets | None:
        return None if rows is None else (read_only(rows[0]), read_only(rows[1]))

    X, y = read_only(data.X), read_only(data.y)
    return replace(data, X=X, y=y, test=pair(data.test), validation=pair(data.validation))


def make_record(cell: Cell, status: Status, reason: str = "", **more: Any) -> dict[str, Any]:
    """Return the record of a cell, as JSON values, with the reason for any status except "ok"."""
    supplier = registry().suppliers.get(("kernels", (cell.backend, cell.method)), "n/a")
    return {"key": cell.key, "cell": asdict(cell), "status": status, "reason": reason, "supplier": supplier} | more


def run_cell(cell: Cell, memory_budget: float = MEMORY_BUDGET, timed: bool = True) -> dict[str, Any]:
    """Measure a cell and return its record, as JSON values; without times unless `timed`.

    Exceptions are recorded as "status" and "reason"; those of metrics, and warnings, as "notes". Metrics that would
    allocate more bytes than `memory_budget` are not computed, with a note.
    """
    try:
        with collect_notes() as notes:
            measured = _measure(cell, memory_budget, timed)
    except UnavailableError as error:
        return make_record(cell, "absent", one_line(error))
    except (Exception, SystemExit) as error:
        return make_record(cell, "failed", describe_error(error))
    measured["notes"] += notes
    return make_record(cell, "ok", **measured)


def _measure(cell: Cell, memory_budget: float, timed: bool) -> dict[str, Any]:
    data = cell.data()
    rows = _identifiers_of_rows(cell, data)
    seconds_compile = measuring.warm_up(cell.create, data)
    seconds, runs = measuring.time_run(cell.create, data, cell.protocol) if timed else (math.nan, 0)
    latency = measuring.latency(cell.create, data) if timed else np.empty(0)
    learners = learning.initialize(cell.create, data, cell.protocol)
    errors = learning.learn_and_record(learners, data, cell.protocol)
    _check_count(learners[0], cell.protocol.passes * len(data.X))
    # after a complete pass, so that nothing is allocated for the first time, whether cells are timed or not
    host_bytes, device_bytes = measuring.peak_memory(cell.create, data, cell.protocol)
    evaluation = evaluate(
        Record(
            data=data,
            learner=learners[0],
            seconds=seconds,
            rows_learned=cell.protocol.passes * len(data.X),
            latency=latency,
            host_bytes=host_bytes,
            device_bytes=device_bytes,
            limit=roofline.throughput_limit(learners[0], len(data.X), roofline.load()),
            **errors._asdict(),
        ),
        memory_budget,
    )
    _check_rows(data, rows["rows_hash"])
    return rows | {
        "n": len(data.X),
        "d": int(data.X.shape[1]),
        "seconds": seconds if timed else None,
        "timed_runs": runs,
        "seconds_compile": seconds_compile if timed else None,
        "seconds_transfer": measuring.transfer_time(cell.create, data) if timed else None,
        "rows_learned": errors.rows.tolist(),
        "test_error": errors.test_error.tolist(),
        "task_error": errors.task_error.tolist(),
        "metrics": evaluation.values,
        "lacked_memory": evaluation.lacked_memory,
        "notes": evaluation.notes if timed else [*evaluation.notes, "not timed"],
    }


def _check_count(learner: Any, rows: int) -> None:
    """Raise ValueError if a learner has counted more steps than rows."""
    if (steps := learner.live_state.n_steps) > rows:
        raise ValueError(
            f"the learner counts {steps} steps after {rows} rows: learn of its kernel returned more than it got, want "
            f"the number of rows learned"
        )


def _check_rows(data: Data, rows_hash: str) -> None:
    """Raise ValueError if rows in memory have changed, since errors and deviations would be those of other rows."""
    found = _hash_of_rows(data)
    if found and found != rows_hash:
        raise ValueError("rows were changed while they were learned: the kernel writes to the memory of X or y")


def identify_rows(cell: Cell) -> dict[str, Any]:
    """An identifier of the rows of a cell, and their tasks, as in its record; empty if they cannot be loaded."""
    try:
        return _identifiers_of_rows(cell, cell.data())
    except (Exception, SystemExit):  # the cell will say why
        return {}


def _identifiers_of_rows(cell: Cell, data: Data) -> dict[str, Any]:
    tasks = () if data.tasks is None else data.tasks
    return {"rows_hash": _hash_of_rows(data) or _key_of_rows(cell), "tasks": [int(row) for row in tasks]}


def _hash_of_rows(data: Data) -> str:
    """A hash of the rows that are learned and of the test set; empty if they stay in a file, or are objects."""
    given = [part for part in (data.X, data.y, *(data.test or ())) if part is not None]
    parts = [np.asarray(part) if is_table(part) else part for part in given]
    in_memory = all(isinstance(p, np.ndarray) and not isinstance(p, np.memmap) and p.dtype != object for p in parts)
    return make_array_key(parts) if in_memory else ""


def _key_of_rows(cell: Cell) -> str:
    """An identifier of rows that stay in a file and do not depend on a seed; empty for other rows."""
    if depends_on_seed(find_stream(cell.stream), cell.stream_settings):
        return ""
    return make_key({"stream": cell.stream, "settings": dict(cell.stream_settings)})
