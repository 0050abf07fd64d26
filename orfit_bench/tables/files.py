"""Files as sources: CSV, Parquet, Arrow, Feather, NPY and Zarr, local or by URL."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from orfit_bench.errors import UnavailableError
from orfit_bench.tables.arrow_streams import ArrowStream, is_stream
from orfit_bench.tables.column_numbers import narrowed, refuse_sparse
from orfit_bench.tables.columns import chunked
from orfit_bench.tables.contents import check_content, distinct_columns
from orfit_bench.tables.csv_files import open_csv
from orfit_bench.tables.folders import files_of, with_all_columns
from orfit_bench.tables.names import with_text_names
from orfit_bench.tables.sources import BUFFER, TABLE, ArraySource, ArrowSource, Source, readable

FORMATS = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".arrows": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
    ".npy": "npy",
    ".zarr": "zarr",
}
"""Formats by the ending of the file."""
EXTRA = "install it by: pip install 'orfit-bench[files]'"


def open_file(path: str, codes: Collection[str] = ()) -> Source:
    """A file, a folder of Parquet files, or a URL as a source.

    Parameters
    ----------
    path : str
        The path or URL.
    codes : collection of str
        Columns of a CSV file that are read as strings if one of their numbers has leading zeros, such as 01234.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the ending is unknown, the content is not of this format, or a folder has a link to itself.
    UnavailableError
        If a library that is required to read the file is not installed.
    """
    kind = _format(path)
    if not is_url(path) and Path(path).is_file():
        check_content(path, kind)
    if kind == "npy":
        return _open_npy(path)
    if kind == "zarr":
        return _open_zarr(path)
    if not is_url(path):
        files_of(Path(path))  # refuses links in a circle
    try:
        import pyarrow.dataset as ds
    except ImportError as error:
        raise UnavailableError(f"{path}: {kind} files are read by pyarrow: {EXTRA}") from error
    place, filesystem = _place_and_filesystem(path, kind)
    with readable(path), distinct_columns(path, place, filesystem, kind):
        is_folder = _is_folder(place, filesystem)
        partitioning = _partitioning(path, place, filesystem, kind) if is_folder else None
        if kind == "ipc" and is_stream(place, filesystem):
            return ArrowStream(path, place, filesystem)
        if kind == "csv":
            return open_csv(path, place, filesystem, partitioning, codes)
        form = _arrow_format(kind)
        opened = partial(ds.dataset, place, format=form, filesystem=filesystem, partitioning=partitioning)
        return ArrowSource(path, with_all_columns(opened) if is_folder else opened())


def is_url(path: str) -> bool:
    """Whether a path is a URL such as s3://bucket/rides.parquet."""
    return "://" in path


def _format(path: str) -> str:
    if not path:
        raise ValueError("no file is named: want the path or URL of a file with columns")
    name = path.rstrip("/").rsplit("/", 1)[-1].lower()
    if is_url(path):
        name = name.partition("?")[0]
    if not is_url(path) and not Path(path).exists():
        raise FileNotFoundError(f"{path}: no such file")
    for ending, kind in FORMATS.items():
        if name.endswith(ending):
            return kind
    if not is_url(path) and Path(path).is_dir():
        return "parquet"
    raise ValueError(f"{path}: the format is not known by its ending, want one of {', '.join(FORMATS)}")


def _place_and_filesystem(path: str, kind: str) -> tuple[str, Any]:
    """Path and file system for pyarrow; those of a local copy if the server sends only whole files."""
    if not is_url(path):
        if path != path.encode(errors="ignore").decode():
            raise ValueError(f"{path!a}: pyarrow opens only files whose names are UTF-8: rename the file")
        return path, None
    import pyarrow.fs

    fsspec = _fsspec(path)
    try:
        fs, place = fsspec.core.url_to_fs(path)
    except ImportError as error:  # fsspec names the driver
        raise UnavailableError(f"{path}: {error}") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    if not fs.exists(place):
        raise FileNotFoundError(f"{path}: no such file, or its server does not answer")
    if kind != "csv" and fs.isfile(place) and not _reads_ranges(fs, place):
        return fsspec.open_local(f"simplecache::{path}"), None
    return place, pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(fs))


def _is_folder(place: str, filesystem: Any) -> bool:
    """Whether this is a folder; its subfolders can be named column=value."""
    if filesystem is None:
        return Path(place).is_dir()
    return bool(filesystem.get_file_info(place).type.name == "Directory")


def _partitioning(path: str, place: str, filesystem: Any, kind: str) -> str | None:
    """The partitioning of a folder: "hive" if subfolders are named by columns (year=2024) that the files lack.

    Raises ValueError if there are no files.
    """
    import pyarrow.dataset as ds

    found = ds.dataset(place, format=_arrow_format(kind), filesystem=filesystem)
    if not found.files:
        raise ValueError(f"{path}: the folder holds no {kind} files")
    folders = {part for file in found.files for part in file.removeprefix(place).split("/")[:-1]}
    columns = {part.partition("=")[0] for part in folders if "=" in part}
    return "hive" if columns - set(found.schema.names) else None


def _reads_ranges(fs: Any, place: str) -> bool:
    """Whether a part of a file can be read without the preceding parts; not every HTTP server supports it."""
    try:
        with fs.open(place, block_size=1, cache_type="none") as file:
            file.seek(1)
            file.read(1)
    except ValueError:
        return False
    return True


def _fsspec(path: str) -> Any:
    try:
        import fsspec
    except ImportError as error:
        raise UnavailableError(f"{path}: URLs are read by fsspec: {EXTRA}") from error
    return fsspec


def _arrow_format(kind: str) -> Any:
    """The format for pyarrow; Parquet files are read column by column in small buffers."""
    import pyarrow.dataset as ds

    if kind != "parquet":
        return kind
    options = ds.ParquetFragmentScanOptions(use_buffered_stream=True, buffer_size=BUFFER, pre_buffer=False)
    return ds.ParquetFileFormat(default_fragment_scan_options=options)


def _open_npy(path: str) -> Source:
    local = path
    if is_url(path):
        local = _fsspec(path).open_local(f"simplecache::{path}")
    try:
        array = np.load(local, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path}: cannot be read: {error}") from error
    return ArraySource(path, _columns_of(path, "", array))


def _open_zarr(path: str) -> Source:
    try:
        import zarr
    except ImportError as error:
        raise UnavailableError(f"{path}: Zarr files are read by zarr: {EXTRA}") from error
    try:
        found = zarr.open(path, mode="r")
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"{path}: cannot be read, it holds no Zarr array or group: {error}") from error
    arrays = {"": found} if isinstance(found, zarr.Array) else dict(sorted(found.arrays()))
    columns: dict[str, tuple[Any, Any]] = {}
    for name, array in arrays.items():
        columns |= _columns_of(path, name, array)
    if not columns:
        raise ValueError(f"{path}: the group holds no arrays, which would be its columns")
    return ArraySource(path, columns)


def _columns_of(path: str, name: str, array: Any) -> dict[str, tuple[Any, Any]]:
    """The columns of an array: its fields, the array itself, or the numbered columns of a matrix."""
    if array.dtype.names and array.ndim == 1:
        return {field: (array, field) for field in array.dtype.names}
    if array.ndim == 1:
        return {name or "0": (array, None)}
    if array.ndim != 2 or array.dtype.names:
        raise ValueError(f"{path}: {name or 'the array'} has shape {array.shape}, want (rows,) or (rows, columns)")
    return {f"{name}_{i}" if name else str(i): (array, i) for i in range(array.shape[1])}


def open_table(table: Any) -> Source:
    """A table in memory (pandas, polars, Arrow, ...) as a source."""
    try:
        import narwhals as nw
        import pyarrow as pa
        import pyarrow.dataset as ds
    except ImportError as error:
        raise UnavailableError(f"tables become streams through pyarrow: {EXTRA}") from error
    table = with_text_names(chunked(table), TABLE)
    try:
        named = nw.from_native(table, eager_only=True)
    except TypeError as error:
        raise TypeError(f"got {type(table).__name__}, want a table with named columns, e.g. a DataFrame") from error
    refuse_sparse(named.iter_columns(), TABLE)
    columns = [(column, narrowed(column, f"{TABLE}: column {column.name!r}")) for column in named.iter_columns()]
    found = named.with_columns(new for old, new in columns if new is not old)
    try:
        return ArrowSource(TABLE, ds.dataset(found.to_arrow()))
    except pa.ArrowNotImplementedError as error:  # complex numbers in a column of pandas
        reason = "; ".join(map(str, error.args))
        remedy = ", or learn complex numbers from arrays, by create(..., dtype='complex128')" * ("complex" in reason)
        raise TypeError(
            f"{TABLE}: a column is not readable: {reason}: drop the column from the table{remedy}"
        ) from error
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:  # objects of several types in a column of pandas
        raise TypeError(
            f"{TABLE}: a column holds objects of several types: {'; '.join(map(str, error.args))}"
        ) from error
