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
    above = (*above, os.path.realpath(folder))
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(ignored):
                continue
            if os.path.isdir(entry.path):  # `entry.is_dir()` raises OSError for a link to itself
                target = os.path.realpath(entry.path)
                if any(place == target or place.startswith(target + os.sep) for place in above):
                    raise ValueError(
                        f"{entry.path}: this link leads to a folder that contains it, {target}: remove the link"
                    )
                yield from _files_in(entry.path, ignored, above)
            elif os.path.isfile(entry.path):
                yield entry.path
            elif entry.is_symlink():
                raise FileNotFoundError(f"{entry.path}: this link leads to no file: remove it, or its rows are missing")


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
        The dataset of the files. Columns have a type that represents the values of all files.

    Raises
    ------
    ValueError
        If a column has no such type, as if one file has numbers and another one dates.
    """
    import pyarrow as pa

    dataset = opened()
    schema = dataset.schema
    types, files = {field.name: field.type for field in schema}, dict[str, str]()
    for fragment in dataset.get_fragments():
        for field in fragment.physical_schema:
            known = types.get(field.name, field.type)
            common = known if known == field.type else _common_type(known, field.type)
            if common is None:
                raise ValueError(
                    f"{fragment.path}: the column {field.name!r} is of type {field.type}, but of type {known} in "
                    f"{files.get(field.name, 'the names of folders')}: a column must have one type in all files"
                )
            types[field.name] = common
            files.setdefault(field.name, fragment.path)
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
    """The type that represents the values of both types; None if there is none."""
    import pyarrow as pa
    import pyarrow.types as t

    if t.is_null(one) or (t.is_boolean(one) and _is_number(other)):
        return other
    if t.is_null(other) or (t.is_boolean(other) and _is_number(one)) or (_is_text(one) and _is_text(other)):
        return one
    if any(t.is_date(dtype) for dtype in (one, other)) and any(t.is_timestamp(dtype) for dtype in (one, other)):
        return one if t.is_timestamp(one) else other
    fields = (pa.schema([pa.field("column", dtype)]) for dtype in (one, other))
    try:
        return pa.unify_schemas(list(fields), promote_options="permissive").field(0).type
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        return None


def _is_number(dtype: Any) -> bool:
    import pyarrow.types as t

    return bool(t.is_integer(dtype) or t.is_floating(dtype) or t.is_decimal(dtype))


def _is_text(dtype: Any) -> bool:
    import pyarrow.types as t

    return _is_text(dtype.value_type) if t.is_dictionary(dtype) else "string" in str(dtype)
