"""Folders of files as one dataset: columns that the first file lacks, or stores in a smaller type."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


def with_all_columns(opened: Callable[..., Any]) -> Any:
    """A dataset with the columns of all its files.

    pyarrow takes the columns and types of the first file: it leaves out what comes later, and casts numbers to the
    type there, so that 3 becomes true, and a double one of 32 bits.

    Parameters
    ----------
    opened : function
        opened(schema=None) is the dataset of pyarrow: files of Parquet or Arrow.

    Returns
    -------
    Dataset
        The files. Numbers have a type that holds those of all files.
    """
    import pyarrow as pa

    dataset = opened()
    schema = dataset.schema
    types = {field.name: field.type for field in schema}
    for fragment in dataset.get_fragments():
        for field in fragment.physical_schema:
            known = types.get(field.name, field.type)
            types[field.name] = known if known == field.type else _common_type(known, field.type)
    if types == {field.name: field.type for field in schema}:
        return dataset
    return opened(schema=pa.schema(list(types.items()), metadata=schema.metadata))


def refuse_later_columns(path: str, dataset: Any) -> None:
    """ValueError for CSV files of which a later one has a column that the first one lacks: pyarrow leaves it out."""
    known = set(dataset.schema.names)
    for fragment in dataset.get_fragments():
        if later := [name for name in fragment.physical_schema.names if name not in known]:
            raise ValueError(
                f"{path}: its file {Path(fragment.path).name} has the column {later[0]!r}, which the first file lacks: "
                f"the CSV files of a folder must have the same columns"
            )


def _common_type(one: Any, other: Any) -> Any:
    """The type that holds the numbers of both; the first one where they are none."""
    import pyarrow as pa
    import pyarrow.types as t

    if t.is_null(one) or (t.is_boolean(one) and (t.is_integer(other) or t.is_floating(other))):
        return other
    if not all(t.is_integer(dtype) or t.is_floating(dtype) for dtype in (one, other)):
        return one
    fields = (pa.schema([pa.field("column", dtype)]) for dtype in (one, other))
    return pa.unify_schemas(list(fields), promote_options="permissive").field(0).type
