"""The names in a table of results that are not metrics; a metric cannot have one of them."""

RESULT_NAMES = frozenset(
    {
        *("method", "kind", "model", "backend", "stream", "settings", "stream_settings", "seed", "error", "protocol"),
        *("dtype", "status", "reason", "notes", "supplier", "rows_hash", "key"),
        *("n", "d", "seconds", "timed_runs", "seconds_compile", "seconds_transfer"),
        *("rows_learned", "test_error_trajectory", "task_error"),
        *("cell", "point", "task", "task_after"),
        *("machine", "versions", "commit", "date", "run", "processor"),
        *("samples_per_second", "deviation_P"),
    }
)
"""Coordinates, numbers, series, dimensions, the origin of merged results, and metrics that earlier versions renamed."""
