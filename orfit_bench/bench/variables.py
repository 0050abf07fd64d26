"""The variables of results: for each, how a record supplies it, its dimensions, unit and meaning."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from orfit_bench.bench import models
from orfit_bench.bench.error import ERRORS
from orfit_bench.bench.protocol import Protocol
from orfit_bench.plugins.registry import registry
from orfit_bench.spec.file_stream import FILE

if TYPE_CHECKING:
    import xarray

FORMAT = "orfit_bench results 2"
"""2: cells have a kind, model and error, and forgetting is defined as in the survey (1: the increase of the root)."""
ORIGIN = ("machine", "versions", "commit", "date")
"""Attributes that become coordinates of the cells in a merged file, with their hash `run`."""
METRICS = (
    "test_error",
    "forgetting",
    "throughput",
    "seconds_per_sample",
    "share_of_limit",
    "host_memory",
    "device_memory",
)
"""Metrics that tables and figures access by name."""
ROWS_HASH = "rows_hash"
"""A coordinate that is missing in files of earlier versions."""
Get = Callable[[dict[str, Any]], Any]

COORDINATES: dict[str, tuple[Get, str]] = {
    "method": (lambda r: r["cell"]["method"], "learning rule"),
    "kind": (lambda r: _kind(r), "what the method learns: regression, filter, classification or subspace"),
    "model": (lambda r: models.build(r["cell"]["model"]).name, "the model that the method fits"),
    "backend": (lambda r: r["cell"]["backend"], "the backend that computed it"),
    "stream": (lambda r: r["cell"]["stream"], "the stream that was learned"),
    "settings": (lambda r: json.dumps(r["cell"]["settings"]), "all settings of the method, JSON"),
    "stream_settings": (lambda r: json.dumps(r["cell"]["stream_settings"]), "all settings of the stream, JSON"),
    "seed": (lambda r: r["cell"]["seed"], "random_state of the learner, seed of the stream"),
    "error": (lambda r: ERRORS[_kind(r)].name, "the meaning of test_error in this cell"),
    "protocol": (lambda r: Protocol(**r["cell"]["protocol"]).name, "passes, learners and preprocessing"),
    "dtype": (lambda r: r["cell"]["dtype"], "dtype of the state"),
    "status": (lambda r: r["status"], "ok, failed, timeout, crashed or absent"),
    "reason": (lambda r: r["reason"], "why the status is not ok"),
    "notes": (lambda r: "; ".join(r.get("notes", [])), "warnings, and metrics that failed"),
    "supplier": (lambda r: r["supplier"], "distribution that supplied the kernel"),
    ROWS_HASH: (
        lambda r: r.get(ROWS_HASH, ""),
        "hash of the rows, or of the stream if they stayed in a file; empty if a seed draws those, or the cell failed",
    ),
    "key": (lambda r: r["key"], "hash of the description of the cell"),
}
NUMBERS: dict[str, tuple[str, str]] = {
    "n": ("row", "rows of the stream"),
    "d": ("feature", "features of the stream"),
    "seconds": ("s", "wall time of learning alone, median of timed_runs runs"),
    "timed_runs": ("1", "number of timed runs"),
    "seconds_compile": ("s", "wall time of a first learner and a few rows: import, compilation, initialization"),
    "seconds_transfer": ("s", "wall time of the transfer of all rows to the device, part of seconds"),
}
SERIES: dict[str, tuple[str, tuple[str, ...], str, str]] = {
    "rows_learned": ("rows_learned", ("point",), "row", "rows learned when the point was taken"),
    "test_error_trajectory": (
        "test_error",
        ("point",),
        "by kind",
        "the coordinate error, on the test set",
    ),
    "task_error": (
        "task_error",
        ("task_after", "task"),
        "by kind",
        "on the rows of task after the last row of task_after: mean squared error, share of wrong labels, or "
        "mean compression loss",
    ),
}

KNOWN = (*COORDINATES, *NUMBERS, *SERIES, *METRICS)
"""The variables of every file."""


def stream_name(stream: str, settings: Mapping[str, Any]) -> str:
    """The name of a stream; for a file of the user, the name of the file."""
    path = settings.get("path") if stream == FILE.name else ""
    return str(path or "").rstrip("/").rsplit("/", 1)[-1] or stream


def stream_names(results: xarray.Dataset) -> list[str]:
    """The name of the stream of each cell, or of its file."""
    given = zip(results["stream"].values, results["stream_settings"].values, strict=True)
    return [stream_name(str(stream), json.loads(settings)) for stream, settings in given]


def per_cell() -> set[str]:
    """The variables with one value per cell that a run may write, including metrics of plugins."""
    return {*COORDINATES, *NUMBERS, *METRICS, *registry().metrics}


def _kind(record: dict[str, Any]) -> str:
    return registry().methods[record["cell"]["method"]].kind
