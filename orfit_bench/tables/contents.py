"""Check of the first bytes of local files: a file whose content does not match its ending is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from orfit_bench.tables.names import check_distinct

UTF_16 = "text in UTF-16"
MAGIC = {
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow's file format",
    b"\xff\xff\xff\xff": "Arrow's stream format",
    b"FEA1": "the first version of Feather",
    b"\x93NUMPY": "NPY",
    b"PK\x03\x04": "a ZIP archive, such as .npz or .xlsx",
    b"\x1f\x8b": "gzip",
    b"\xff\xfe": UTF_16,
    b"\xfe\xff": UTF_16,
    b"\x89HDF": "HDF5",
    b"SQLite format 3": "SQLite",
}
"""The format of files with these first bytes."""
WANTED = {
    "parquet": ("Parquet",),
    "ipc": ("Arrow's file format", "Arrow's stream format"),
    "npy": ("NPY",),
    "csv": ("",),
    "csv.gz": ("gzip",),
}
"""The contents of files of these formats; a text file must not begin with bytes of another format."""
NAMES = {"parquet": "Parquet", "ipc": "Arrow or Feather", "npy": "NPY", "csv": "a text file", "csv.gz": "gzip"}


def check_content(path: str, kind: str) -> None:
    """Raise ValueError if a local file is empty, or if its first bytes do not match its ending.

    Parameters
    ----------
    path : str
        The file.
    kind : str
        Its format: "parquet", "ipc", "npy" or "csv".
    """
    if kind == "csv" and path.lower().endswith(".gz"):
        kind = "csv.gz"
        if not path.endswith(".gz"):
            raise ValueError(
                f"{path}: only a name that ends in .gz, in small letters, is decompressed: rename the file"
            )
    if kind not in WANTED:
        return
    with Path(path).open("rb") as file:
        start = file.read(16)
    if not start:
        raise ValueError(f"{path}: the file is empty")
    found = next((name for magic, name in MAGIC.items() if start.startswith(magic)), "")
    if found in WANTED[kind]:
        return
    described = f"it begins as {found}" if found else "it does not begin as such a file"
    remedy = "convert it to UTF-8" if found == UTF_16 else "rename it, or write it again"
    raise ValueError(f"{path}: by its ending this is {NAMES[kind]}, but {described}: {remedy}")


@contextmanager
def distinct_columns(path: str, place: str, filesystem: Any, kind: str) -> Iterator[None]:
    """Turn errors of pyarrow about columns with the same name into a ValueError that contains the name."""
    import pyarrow as pa
    import pyarrow.dataset as ds
    import pyarrow.fs

    try:
        yield
    except pa.ArrowInvalid as error:
        if "duplicate field names" in str(error):
            local = pyarrow.fs.LocalFileSystem() if filesystem is None else filesystem
            form = ds.ParquetFileFormat() if kind == "parquet" else ds.IpcFileFormat()
            files = [place]
            if local.get_file_info(place).type.name == "Directory":
                found = local.get_file_info(pyarrow.fs.FileSelector(place, recursive=True))
                files = [info.path for info in found if info.is_file]
            for file in files:
                check_distinct(form.inspect(file, local).names, path)
        raise
