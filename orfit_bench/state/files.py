"""A state as an .npz file with a JSON header and a checksum. No pickle is read."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from orfit_bench.jobs.files import replace
from orfit_bench.state.header import check_header, header
from orfit_bench.state.serialization import HostArray, arrays
from orfit_bench.state.state import LearnerState, StateRule


def save(rule: StateRule, state: LearnerState | None, path: str | PathLike[str]) -> None:
    """Write header and arrays to path, which holds the old file or the complete new one at every moment."""
    write(header(rule, state), arrays(rule, state), path)


def write(entries: Mapping[str, Any], given: Mapping[str, HostArray], path: str | PathLike[str]) -> None:
    """Write a header and arrays to path, with a checksum of both."""
    head = np.frombuffer(json.dumps(entries).encode(), np.uint8)
    total = np.uint32(checksum(head, given))

    def write_to(temporary: Path) -> None:
        with temporary.open("wb") as file:  # a path would get the ending .npz
            np.savez(file, allow_pickle=False, header=head, checksum=total, **given)

    replace(Path(path), write_to)


def checksum(head: HostArray, given: Mapping[str, HostArray]) -> int:
    """CRC-32 of the header and of the names, dtypes, shapes and values of all arrays, in alphabetical order."""
    total = zlib.crc32(head.tobytes())
    for name in sorted(given):
        a = given[name]
        total = zlib.crc32(f"{name} {a.dtype.str} {a.shape}".encode(), total)
        total = zlib.crc32(np.ascontiguousarray(a).data if a.size else b"", total)
    return total


def read(path: str | PathLike[str]) -> tuple[dict[str, Any], dict[str, HostArray]]:
    """Header and arrays of a saved file; ValueError naming the file where it is damaged or something else."""
    with open(path, "rb") as raw:  # what the system refuses (no such file, a folder) is no damaged file
        try:
            with np.load(raw, allow_pickle=False) as file:
                given = {name: file[name] for name in file.files}
            written, encoded = given.pop("checksum", None), given.pop("header")
            head = json.loads(encoded.tobytes())
        except Exception as error:  # a flipped bit raises anything: struct.error, NotImplementedError, MemoryError, ...
            pickled = "it is no .npz file, or holds pickled objects, which are never read"
            reason = pickled if "pickle" in str(error) else f"{type(error).__name__}: {error}"
            raise ValueError(f"{path}: not a complete state saved by orfit_bench ({reason})") from error
    check_header(head, str(path))
    if head["format"] > 2 and (written is None or written != checksum(encoded, given)):
        raise ValueError(f"{path}: the checksum of the content does not fit: the file is damaged or was changed")
    return head, given
