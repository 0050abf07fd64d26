"""The columns in which the index of a DataFrame of pandas is stored in Arrow's tables and in Parquet files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

UNNAMED = re.compile(r"__(index_level_\d+|null_dask_index)__")
"""The columns of an index without a name."""


def index_columns(names: Iterable[str], metadata: Mapping[bytes, bytes] | None) -> frozenset[str]:
    """The columns that hold an index: those that the metadata of pandas name, and unnamed ones by their own names.

    They are no features: pandas shows them as the index when it reads the table.
    """
    try:
        named = json.loads((metadata or {}).get(b"pandas", b"{}"))["index_columns"]
    except (ValueError, KeyError, TypeError):
        named = []
    stored = {name for name in named if isinstance(name, str)}  # a RangeIndex is a dictionary, and no column
    return frozenset(name for name in names if name in stored or UNNAMED.fullmatch(name))
