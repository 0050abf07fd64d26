"""Folders of files: which files they hold, and one dataset of them with the columns of all files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


def files_of(path: Path) -> list[Path]:
    """The file itself, or all files of a Zarr file, or those of a folder and its subfolders that Arrow reads.

    Raises ValueError for a link to a folder that contains it: Arrow would read the files there again and again.
    """
    if not path.is_dir():
        return [path]
    ignored = () if path.suffix.lower() == ".zarr" else ("_", ".")
    return list(map(Path, sorted(_files_in(str(path), ignored))))


def _files_in(folder: str, ignored: tuple[str, ...], above: tuple[str, ...] = ()) -> Iterator[str]:
    """The files in a folder and its subfolders, also linked ones, unless their names begin with something ignored."""
    place = os.path.realpath(folder)
    if place in above:
        raise ValueError(f"{folder}: this link leads to a folder that contains it, {place}: remove the link")
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(ignored):
                continue
            if entry.is_dir():
                yield from _files_in(entry.path, ignored, (*above, place))
            elif entry.is_file():
                yield entry.path


def with_all_columns(opened: Callable[..., Any]) -> Any:
    """A dataset with the columns of all its files.

    pyarrow uses the columns and types of the first file: it drops columns of later files, and casts numbers to the
    first type, so that 3 can become true, and a double a number of 32 bits.

    Parameters
    ----------
    opened : function
        opened(schema=None) returns the pyarrow dataset of Parquet or Arrow files.

    Returns
    -------
    Dataset
        The dataset of the files. Numeric columns have a type that represents the numbers of all files.
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
    """Raise ValueError if a later CSV file has a column that the first file lacks, since pyarrow would drop it."""
    known = set(dataset.schema.names)
    for fragment in dataset.get_fragments():
        if later := [name for name in fragment.physical_schema.names if name not in known]:
            raise ValueError(
                f"{path}: its file {Path(fragment.path).name} has the column {later[0]!r}, which the first file lacks: "
                f"the CSV files of a folder must have the same columns"
            )


def _common_type(one: Any, other: Any) -> Any:
    """The type that represents the numbers of both types; the first type if they are not numeric."""
    import pyarrow as pa
    import pyarrow.types as t

    if t.is_null(one) or (t.is_boolean(one) and (t.is_integer(other) or t.is_floating(other))):
        return other
    if not all(t.is_integer(dtype) or t.is_floating(dtype) for dtype in (one, other)):
        return one
    fields = (pa.schema([pa.field("column", dtype)]) for dtype in (one, other))
    return pa.unify_schemas(list(fields), promote_options="permissive").field(0).type
