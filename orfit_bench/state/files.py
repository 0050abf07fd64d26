"""A state as an .npz file with a JSON header and a digest of every array. No pickle is read.

The header lists a digest of each array; the member "checksum" is a digest of the header, and therefore of the whole
file. In formats before 4 it is a CRC-32 of the header and all arrays.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import zipfile
import zlib
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from orfit_bench.jobs.files import replace
from orfit_bench.state.header import check_header, header
from orfit_bench.state.serialization import HostArray, arrays
from orfit_bench.state.state import LearnerState, StateRule

ENDING = ".npy"
OTHER_FORMATS = (
    ".nc",
    ".npy",
    ".csv",
    ".json",
    ".parquet",
    ".pkl",
    ".pickle",
    ".h5",
    ".hdf5",
    ".zarr",
    ".zip",
    ".toml",
)
"""Endings of other formats, which are refused; names without an ending or with a user's own ending are accepted."""
DAMAGED = "the file is damaged or was changed"


def save(rule: StateRule, state: LearnerState | None, path: str | PathLike[str]) -> None:
    """Write header and arrays to path, which holds the old file or the complete new one at every moment."""
    write(header(rule, state), arrays(rule, state), path)


def write(entries: Mapping[str, Any], given: Mapping[str, HostArray], path: str | PathLike[str]) -> None:
    """Write a header and arrays to path, with a digest of each array and of the header.

    Raises
    ------
    ValueError
        If the ending of the path is that of another format.
    """
    if Path(path).suffix.lower() in OTHER_FORMATS:
        raise ValueError(f"{path}: a state is saved as an .npz file: want the ending .npz, got {Path(path).suffix}")
    digests = {name: array_digest(a) for name, a in given.items()}
    head = np.frombuffer(json.dumps({**entries, "digests": digests}).encode(), np.uint8)

    def write_to(file: BinaryIO) -> None:
        np.savez(file, allow_pickle=False, header=head, checksum=np.array(digest(head.tobytes())), **given)

    replace(Path(path), write_to)


def digest(data: bytes) -> str:
    """SHA-256 of bytes."""
    return hashlib.sha256(data).hexdigest()


def array_digest(a: HostArray) -> str:
    """SHA-256 of the dtype, the shape and the values of an array."""
    found = hashlib.sha256(f"{a.dtype.str} {a.shape}".encode())
    found.update(np.ascontiguousarray(a).data if a.size else b"")
    return found.hexdigest()


def checksum(head: HostArray, given: Mapping[str, HostArray]) -> int:
    """CRC-32 of the header and of the names, dtypes, shapes and values of all arrays, as in format 3."""
    total = zlib.crc32(head.tobytes())
    for name in sorted(given):
        a = given[name]
        total = zlib.crc32(f"{name} {a.dtype.str} {a.shape}".encode(), total)
        total = zlib.crc32(np.ascontiguousarray(a).data if a.size else b"", total)
    return total


def read(path: str | PathLike[str]) -> tuple[dict[str, Any], dict[str, HostArray]]:
    """Header and arrays of a saved file; ValueError, which names the file, if it is damaged or something else."""
    with open(path, "rb") as raw:  # errors of the system (no such file, a folder) are raised unchanged
        try:
            given = _read_members(raw)
            written, encoded = given.pop("checksum", None), given.pop("header")
            head = json.loads(encoded.tobytes())
        except Exception as error:  # a flipped bit raises anything: struct.error, NotImplementedError, MemoryError, ...
            what = "it has no member" if isinstance(error, KeyError) else f"{type(error).__name__}:"
            raise ValueError(f"{path}: not a complete state saved by orfit_bench ({what} {error})") from error
    check_header(head, str(path))
    if head["format"] == 3 and (written is None or written != checksum(encoded, given)):
        raise ValueError(f"{path}: the checksum of the content does not fit: {DAMAGED}")
    if head["format"] > 3:
        if written is None or str(written) != digest(encoded.tobytes()):
            raise ValueError(f"{path}: the checksum of the header does not fit: {DAMAGED}")
        if wrong := _wrong_digests(head.pop("digests", None), given):
            raise ValueError(f"{path}: {wrong}: {DAMAGED}")
    return head, given


def _wrong_digests(digests: Any, given: Mapping[str, HostArray]) -> str:
    """Which array is missing, unknown or changed; empty if none."""
    if not isinstance(digests, dict):
        return "the header has no digests"
    for name in sorted({*digests, *given}):
        if name not in given:
            return f"the array {name!r} is missing"
        if name not in digests:
            return f"the array {name!r} is unknown"
        if digests[name] != array_digest(given[name]):
            return f"the digest of the array {name!r} does not fit"
    return ""


END, END_SIZE = b"PK\x05\x06", 22
"""The first bytes and the size of the last record of a .zip file without a comment."""


def _read_members(raw: BinaryIO) -> dict[str, HostArray]:
    """The arrays of an .npz file. Sizes are compared with that of the file before anything is allocated."""
    size = os.fstat(raw.fileno()).st_size
    if not zipfile.is_zipfile(raw):
        raise ValueError("it is not an .npz file, or is cut short")
    raw.seek(-END_SIZE, os.SEEK_END)
    if not raw.read().startswith(END):
        raise ValueError("there are other bytes after its end")
    found: dict[str, HostArray] = {}
    with zipfile.ZipFile(raw) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > size or any(m.compress_type for m in members):
            raise ValueError("its members are compressed, or larger than the file")
        for member in members:
            name = member.filename.removesuffix(ENDING)
            if name == member.filename or name in found:
                raise ValueError(f"the member {member.filename!r} is unknown or occurs twice")
            found[name] = _read_array(name, archive.read(member))
    return found


def _read_array(name: str, data: bytes) -> HostArray:
    """The array of a member; no object is unpickled."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, is_fortran, dtype = read_header(stream)
    if dtype.hasobject:
        raise ValueError(f"the array {name!r} holds pickled objects, which are never read")
    values = memoryview(data)[stream.tell() :]
    if math.prod(shape) * dtype.itemsize != len(values):
        raise ValueError(f"the array {name!r} of shape {shape} and dtype {dtype} does not fit its {len(values)} bytes")
    flat = np.frombuffer(values, dtype) if values.nbytes else np.empty(0, dtype)
    return flat.reshape(shape[::-1]).T.copy() if is_fortran else flat.reshape(shape).copy()
