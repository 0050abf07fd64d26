"""Progress of a run as lines on stderr."""

from __future__ import annotations

import sys
from typing import Any

from orfit_bench.bench.variables import stream_name
from orfit_bench.counts import describe_count


def print_progress(done: int, total: int, record: dict[str, Any] | None) -> None:
    """Print a line for each finished cell on stderr."""
    if record is not None:
        print(f"[{done}/{total}] {describe(record)}", file=sys.stderr, flush=True)
    elif done:
        print(f"resuming: {done} of {total} cells are already finished", file=sys.stderr, flush=True)
    else:
        print(f"{describe_count(total, 'cell')} to measure", file=sys.stderr, flush=True)


def describe(record: dict[str, Any]) -> str:
    """A cell and its status in one line."""
    cell = record["cell"]
    settings = cell["stream_settings"]
    size = ", ".join(f"{k} {v}" for k, v in settings.items() if k in ("n", "d") and v is not None)
    stream = stream_name(cell["stream"], settings)
    what = f"{cell['method']} on {cell['backend']}, {stream} ({size}{', ' * bool(size)}seed {cell['seed']})"
    took = f", {record['seconds']:.3g} s" if record.get("seconds") is not None else ""
    return f"{what}: {record['status']}{took}{': ' if record['reason'] else ''}{record['reason']}"
