"""Results with given numbers, without any learning."""

import json

import numpy as np

from orfit_bench.bench import Cell, results
from orfit_bench.bench.cell import make_record

HERE = {
    "spec_version": "1.0",
    "versions": {"orfit-bench": "0.1.0", "numpy": "2.4"},
    "machine": {"cpu": "a CPU", "cores": 2, "memory": 8e9, "platform": "Linux", "threads": {"OMP_NUM_THREADS": "1"}},
    "commit": {"id": "0123456789", "dirty": False, "changes": ""},
}
NUMBERS = {
    "test_error": 0.5,
    "forgetting": 0.1,
    "deviation": 1e-15,
    "throughput": 1e4,
    "seconds_per_sample": 1e-4,
    "share_of_limit": 0.1,
    "latency_p50": 1e-5,
    "latency_p99": 1e-4,
    "host_memory": 1e4,
    "state_bytes": 800.0,
}


def created(
    method="lms", backend="numpy", stream="drift", seed=0, d=16, settings=None, tasks=3, dtype="float64", **numbers
):
    """A measured cell, with these metrics replacing NUMBERS; its errors decrease along the stream."""
    metrics = NUMBERS | numbers
    sizes = {"n": 100, "d": d}
    cell = Cell(method, backend, stream, settings or {}, sizes, seed, dtype)
    last = metrics["test_error"]
    learned = {
        "rows_learned": [50, 100],
        "test_error": [2 * last, last],
        "task_error": np.where(np.tri(tasks), last + np.add.outer(np.arange(tasks), np.arange(tasks)), np.nan).tolist(),
    }
    return make_record(
        cell, "ok", n=100, d=d, seconds=0.01, timed_runs=3, seconds_compile=0.2, metrics=metrics, **learned
    )


def failed(method="lms", reason="it broke", status="failed", **more):
    """A cell that was not measured."""
    complete = created(method, **more)
    return {"key": complete["key"], "cell": complete["cell"], "status": status, "reason": reason, "supplier": "n/a"}


def table(records, **provenance):
    """The results of these records."""
    return results.to_dataset(records, HERE | provenance, json.loads("{}"))
