"""A cell: one measurement, described by plain values, and what came out of it, as plain values too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from orfit_bench.bench import learning, limit, measuring, models, roofline
from orfit_bench.bench.protocol import Protocol
from orfit_bench.errors import UnavailableError
from orfit_bench.jobs.keys import make_key
from orfit_bench.jobs.notes import collect_notes, describe_error, one_line
from orfit_bench.learners.factory import create
from orfit_bench.plugins.registry import registry
from orfit_bench.sampling import with_sampling
from orfit_bench.spec import Data, Record

STATUSES = ("ok", "failed", "timeout", "crashed", "absent")


@dataclass(frozen=True, slots=True)
class Cell:
    """One measurement: method x settings x model x backend x stream x size x seed x dtype x protocol.

    settings, model and stream_settings hold what JSON knows; {} is the linear model; the sizes n and d are settings of
    the stream. seed is the learner's random_state, and the stream's seed where it has one.
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
        """A name for the cell that is the same in every process: a hash of all it says."""
        return make_key(asdict(self))

    def data(self) -> Data:
        """The rows. ValueError where the stream cannot be had in this size, UnavailableError where its data lack."""
        stream = with_sampling(registry().streams.find(self.stream))
        seeded = {"seed": self.seed} if any(s.name == "seed" for s in stream.settings) else {}
        return stream.load(**self.stream_settings, **seeded)

    def learner(self) -> Any:
        """A new learner."""
        return create(
            self.method,
            backend=self.backend,
            dtype=self.dtype,
            random_state=self.seed,
            model=models.build(self.model),
            **dict(self.settings),
        )


def outcome(cell: Cell, status: str, reason: str = "", **more: Any) -> dict[str, Any]:
    """What became of a cell, as plain values: status is one of STATUSES, with the reason unless it is "ok"."""
    supplier = registry().suppliers.get(("kernels", (cell.backend, cell.method)), "n/a")
    return {"key": cell.key, "cell": asdict(cell), "status": status, "reason": reason, "supplier": supplier} | more


def run_cell(cell: Cell) -> dict[str, Any]:
    """Learn the cell's stream and measure: a plain dict that JSON and pickle can carry.

    Whatever the method, backend, stream or a metric raises ends in "status" and "reason", or in "notes".
    """
    try:
        with collect_notes() as notes:
            measured = _measure(cell)
    except UnavailableError as error:
        return outcome(cell, "absent", one_line(error))
    except (Exception, SystemExit) as error:
        return outcome(cell, "failed", describe_error(error))
    measured["notes"] += notes
    return outcome(cell, "ok", **measured)


def _measure(cell: Cell) -> dict[str, Any]:
    data = cell.data()
    seconds_compile = measuring.warm_up(cell.learner, data)
    seconds, runs = measuring.time_run(cell.learner, data, cell.protocol)
    latency = measuring.latency(cell.learner, data)
    host_bytes, device_bytes = measuring.peak_memory(cell.learner, data, cell.protocol)
    learners = learning.initialize(cell.learner, data, cell.protocol)
    seen = learning.learn_and_record(learners, data, cell.protocol)
    metrics, notes = _metrics(
        Record(
            data=data,
            learner=learners[0],
            seconds=seconds,
            rows_learned=cell.protocol.passes * len(data.X),
            latency=latency,
            host_bytes=host_bytes,
            device_bytes=device_bytes,
            limit=limit.throughput(learners[0], len(data.X), roofline.load()),
            **seen._asdict(),
        )
    )
    return {
        "n": len(data.X),
        "d": int(data.X.shape[1]),
        "seconds": seconds,
        "timed_runs": runs,
        "seconds_compile": seconds_compile,
        "seconds_transfer": measuring.transfer_time(cell.learner, data),
        "rows_learned": seen.rows.tolist(),
        "test_error": seen.test_error.tolist(),
        "task_error": seen.task_error.tolist(),
        "metrics": metrics,
        "notes": notes,
    }


def _metrics(record: Record) -> tuple[dict[str, float | None], list[str]]:
    """Every metric's number, None where it does not apply; and what the metrics that raised had to say."""
    numbers: dict[str, float | None] = {}
    notes = []
    for metric in registry().metrics.values():
        try:
            value = metric.measure(record)
            numbers[metric.name] = None if value is None else float(value)
        except (Exception, SystemExit) as error:
            numbers[metric.name] = None
            notes.append(f"metric {metric.name}: {describe_error(error)}")
    return numbers, notes
