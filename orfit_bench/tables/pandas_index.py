"""What pandas notes of a DataFrame in Arrow tables and Parquet files: the columns of its index, and its categories."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

UNNAMED = re.compile(r"__(index_level_\d+|null_dask_index)__")
"""The columns of an index without a name."""


def index_columns(names: Iterable[str], metadata: Mapping[bytes, bytes] | None) -> frozenset[str]:
    """The columns that hold an index: those that the metadata of pandas name, and unnamed ones by their own names.

    They are no features: pandas shows them as the index when it reads the table.
    """
    named = _noted(metadata, "index_columns")
    stored = {name for name in named if isinstance(name, str)}  # a RangeIndex is a dictionary, and no column
    return frozenset(name for name in names if name in stored or UNNAMED.fullmatch(name))


def categorical_columns(metadata: Mapping[bytes, bytes] | None) -> frozenset[str]:
    """The columns of dtype "category", whose values a Parquet file may have without their dictionary."""
    columns = [column for column in _noted(metadata, "columns") if isinstance(column, dict)]
    names = (column.get("field_name") for column in columns if column.get("pandas_type") == "categorical")
    return frozenset(name for name in names if isinstance(name, str))


def _noted(metadata: Mapping[bytes, bytes] | None, entry: str) -> list[Any]:
    try:
        found = json.loads((metadata or {}).get(b"pandas", b"{}"))[entry]
    except (ValueError, KeyError, TypeError):
        return []
    return found if isinstance(found, list) else []
