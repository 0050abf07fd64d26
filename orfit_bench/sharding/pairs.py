"""Recognition of shards that are a pair (X, y)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from orfit_bench.tables.columns import is_of_dask, is_table


def is_pair(shard: Any) -> bool:
    """Whether a shard is a pair (X, y): a tuple of two, or a list of two whose first item is two-dimensional.

    A list of two rows is therefore X without y, like a list of any other number of rows.
    """
    if not isinstance(shard, tuple | list) or len(shard) != 2:
        return False
    return isinstance(shard, tuple) or is_of_dask(shard[0]) or is_rows(shard[0])


def is_rows(value: Any) -> bool:
    """Whether the value has two dimensions, like a table or a matrix."""
    if hasattr(value, "ndim"):
        return bool(value.ndim == 2)
    if isinstance(value, tuple | list):
        try:
            return np.ndim(value) == 2
        except ValueError:  # rows of different lengths
            return True
    return is_table(value)


def check_no_files(shard: Any) -> None:
    """Raise TypeError for a list of files."""
    if isinstance(shard, tuple | list) and len(shard) and isinstance(shard[0], str | Path):
        raise TypeError(
            f"a shard is a {type(shard).__name__} of files, want one file: pass each as a shard, or a callable that "
            f"returns a new iterator of them"
        )
