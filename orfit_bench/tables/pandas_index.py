"""Metadata that pandas stores in Arrow tables and Parquet files: the columns of the index, and the categories."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

UNNAMED = re.compile(r"__(index_level_\d+|null_dask_index)__")
"""The names of columns that store an unnamed index."""


def index_columns(names: Iterable[str], metadata: Mapping[bytes, bytes] | None) -> frozenset[str]:
    """The columns that store an index: those listed in the metadata of pandas, and those of unnamed indexes.

    They are not features: pandas shows them as the index when it reads the table.
    """
    named = _noted(metadata, "index_columns")
    stored = {name for name in named if isinstance(name, str)}  # a RangeIndex is a dictionary, not a column
    return frozenset(name for name in names if name in stored or UNNAMED.fullmatch(name))


def categorical_columns(metadata: Mapping[bytes, bytes] | None) -> frozenset[str]:
    """The columns of dtype "category", whose values a Parquet file can store without their dictionary."""
    columns = [column for column in _noted(metadata, "columns") if isinstance(column, dict)]
    names = (column.get("field_name") for column in columns if column.get("pandas_type") == "categorical")
    return frozenset(name for name in names if isinstance(name, str))


def _noted(metadata: Mapping[bytes, bytes] | None, entry: str) -> list[Any]:
    try:
        found = json.loads((metadata or {}).get(b"pandas", b"{}"))[entry]
    except (ValueError, KeyError, TypeError):
        return []
    return found if isinstance(found, list) else []
