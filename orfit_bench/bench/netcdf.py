"""A Dataset as the bytes of a netCDF file, with a digest of each array and of the whole file.

The digests of the arrays are an attribute of the Dataset. The digest of the file follows the end of the HDF5 data,
where HDF5 readers ignore it. Files of earlier versions have no digests.
"""

from __future__ import annotations

import gc
import hashlib
import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray

ATTRIBUTE = "digests"
REMEDY = (
    "if a program has changed these results, read them by orfit_bench.bench.load, which drops the digests, or delete "
    "the attribute 'digests' before they are written"
)
START = b"\nsha256 of the bytes before this line: "
LENGTH = len(START) + 64 + 1
SIGNATURE = b"\x89HDF\r\n\x1a\n"
"""The first bytes of HDF5 files; the version of the header follows."""
SMALLEST = 52
"""Minimum length of an HDF5 file, in bytes."""
PLACE_OF_LENGTH = {0: 40, 1: 44, 2: 28, 3: 28}
"""The position of the length of the file, 8 bytes, in the header of each version."""


def encode(dataset: xarray.Dataset) -> bytes:
    """The bytes of a netCDF file. It is written to memory, since HDF5 crashes on a full disk."""
    with _without_cluster():
        data = bytes(dataset.assign_attrs({ATTRIBUTE: json.dumps(_digests(dataset))}).to_netcdf(engine="h5netcdf"))
    return data + START + hashlib.sha256(data).hexdigest().encode() + b"\n"


@contextmanager
def _without_cluster() -> Iterator[None]:
    """Keep xarray from requesting a lock on our bytes from the caller's Dask cluster, which fails."""
    if "dask" not in sys.modules:
        yield
        return
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield


def decode(data: bytes) -> xarray.Dataset:
    """The Dataset in a file. If it is damaged, raises ValueError that names the array, or an error of HDF5."""
    content = data[:-LENGTH]
    if not data.startswith(START, len(content)):
        rest = data[_check_length(data) :]
        if rest and START.startswith(rest[: len(START)]):
            cut = "it was cut: the digest at its end is incomplete"
            raise ValueError(cut if len(rest) < LENGTH else "bytes were added after the digest at its end")
        dataset, wrong = _read(data)
        if wrong or ATTRIBUTE in dataset.attrs:
            raise ValueError(f"{wrong or 'the digest of the file is missing, so it may have been cut'}; {REMEDY}")
        return dataset  # written by an earlier version
    if not is_intact(data):
        raise ValueError(_find_damage(content) or "the digest of the file does not fit")
    dataset, _ = _read(content)
    del dataset.attrs[ATTRIBUTE]
    return dataset


def is_intact(data: bytes) -> bool:
    """Whether a file ends with the digest of the bytes before it."""
    content = memoryview(data)[:-LENGTH]
    return data[len(content) :] == START + hashlib.sha256(content).hexdigest().encode() + b"\n"


def _check_length(data: bytes) -> int:
    """The length of the HDF5 file. Raises ValueError if it was cut: the library would crash when the process ends."""
    if not data.startswith(SIGNATURE):
        raise ValueError("it does not start as files of HDF5 do")
    place = PLACE_OF_LENGTH.get(data[len(SIGNATURE)]) if len(data) > SMALLEST else None
    length = SMALLEST if place is None else int.from_bytes(data[place : place + 8], "little")
    if len(data) < length:
        raise ValueError(f"it was cut: it holds {len(data)} bytes, want at least {length}")
    return length


def _read(content: bytes) -> tuple[xarray.Dataset, str]:
    """The Dataset, and a message about digests that do not match; empty if all match."""
    import xarray

    dataset = xarray.load_dataset(io.BytesIO(content), engine="h5netcdf")
    expected = json.loads(str(dataset.attrs.get(ATTRIBUTE, "null")))
    changed = "" if expected is None else _changed(expected, _digests(dataset))
    return dataset, f"the digest of {changed} does not fit" if changed else ""


def _find_damage(content: bytes) -> str:
    """The array of a damaged file that was changed; empty if it cannot be read. HDF5 objects may fail to close."""
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    try:
        return _read(content)[1]
    except Exception:
        return ""
    finally:
        gc.collect()
        sys.unraisablehook = hook


def _changed(expected: dict[str, str], found: dict[str, str]) -> str:
    """The arrays that were changed, are missing or were added; empty if none."""
    wrong = [name for name in {**expected, **found} if expected.get(name) != found.get(name)]
    return " and ".join(f"the array {name!r}" if name else "the attributes" for name in wrong[:3])


def _digests(dataset: xarray.Dataset) -> dict[str, str]:
    """A digest of every array by its name, and of the attributes by an empty name."""
    found = {"": _hash(_texts(dataset.attrs))}
    for name, variable in dataset.variables.items():
        values = variable.values
        content = values.astype(str).tolist() if values.dtype.kind in "OUS" else _bytes(values)
        found[str(name)] = _hash([variable.dims, values.shape, content, _texts(variable.attrs)])
    return found


def _bytes(values: np.ndarray[Any, Any]) -> str:
    """Dtype and hash of the values of a numeric array; all NaNs count as equal."""
    same = np.where(np.isnan(values), np.nan, values) if values.dtype.kind == "f" else values
    return f"{values.dtype.str} {hashlib.sha256(np.ascontiguousarray(same).data if same.size else b'').hexdigest()}"


def _texts(attributes: Any) -> dict[str, str]:
    return {str(name): str(value) for name, value in attributes.items() if name != ATTRIBUTE}


def _hash(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]
