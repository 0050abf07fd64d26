"""Damaged files of learners."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from orfit_bench.conformance.check import check, ensure, ensure_raises
from orfit_bench.conformance.context import CheckContext
from orfit_bench.learners.restoring import load
from orfit_bench.state import binary, files
from orfit_bench.state.serialization import RENAMED

PLACES = 24
"""Number of bytes of a file that are changed, one at a time."""


@check(all_variants=False)
def changed_files_are_refused(context: CheckContext) -> None:
    """A changed byte in the file of a learner raises ValueError, unless loading does not read it."""
    data = save(context, 9)
    rng = np.random.default_rng(context.seed)

    def changed() -> Iterator[tuple[str, bytes]]:
        for place in rng.integers(0, len(data), PLACES).tolist():
            other = bytearray(data)
            other[place] ^= 255
            yield f"byte {place} of {len(data)} changed", bytes(other)
        members = read_members(data)
        for name in members.keys() - {"header", "checksum"}:
            yield f"{name} changed, in an archive that is whole", _with_changed_byte(members, name, rng)
        header = bytes(members["header"]).replace(b'"n_samples_seen": 9', b'"n_samples_seen": 8')
        fewer = _archive(members | {"header": np.frombuffer(header, np.uint8)})
        yield "a row less in the header, in an archive that is whole", fewer

    _ensure_refused_or_equal(context, changed(), data)


@check(all_variants=False)
def cut_files_are_refused(context: CheckContext) -> None:
    """A file of a learner without its end or its middle raises ValueError, as does a file of something else."""
    data, other = save(context, 5), save(context, 7)
    n = len(data)
    cuts = [(f"{k} of {n} bytes", data[:k]) for k in (0, 1, n // 2, n - 1)]
    cuts += [("the middle is missing", data[: n // 3] + data[n // 3 + 8 :]), ("text", b"no learner")]
    cuts += [("the end of another file", data[: n // 2] + other[n // 2 :])]
    cuts += [("a member without its ending", with_member_without_ending(data))]
    cuts += [("a member with bytes after its array", with_longer_member(data))]
    _ensure_refused_or_equal(context, iter(cuts), b"")


def save(context: CheckContext, n: int) -> bytes:
    """The file of a learner of n rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "state.npz")
        context.train(context.rows(n=n)).save(path)
        return path.read_bytes()


@check(all_variants=False)
def earlier_formats_are_read(context: CheckContext) -> None:
    """Files of formats 1 to 3, which have no digests, are read; a wrong checksum of format 3 raises ValueError."""
    learner = context.train(context.rows(n=9))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "state.npz")
        learner.save(path)
        members = read_members(path.read_bytes())
        for number in (1, 2, 3):
            earlier = in_format(members, number)
            if number == 1:
                np.savez(path, allow_pickle=False, **_without_version(earlier))
                context.ensure_identical(load(path, **context.model), learner, "read without a version")
            np.savez(path, allow_pickle=False, **earlier)
            context.ensure_identical(load(path, **context.model), learner, f"read from format {number}")
        for wrong in (0, int(earlier["checksum"]) - 1, int(earlier["checksum"]) + 1, 2**32):
            np.savez(path, allow_pickle=False, **(earlier | {"checksum": np.array(wrong)}))
            ensure_raises(partial(load, path, **context.model), ValueError, "a wrong checksum in format 3", "checksum")
        for name, changed in changed_arrays(earlier):
            np.savez(path, allow_pickle=False, **(earlier | {name: changed}))
            ensure_raises(partial(load, path, **context.model), ValueError, f"{name} changed in format 3", "checksum")


def in_format(members: dict[str, Any], number: int) -> dict[str, Any]:
    """The members of the same file in an earlier format."""
    head = json.loads(bytes(members["header"]))
    del head["digests"]
    header = np.frombuffer(json.dumps(head | {"format": number}).encode(), np.uint8)
    arrays = {name: a for name, a in members.items() if name not in ("header", "checksum")}
    if number == 1:
        earlier_names = {now: before for before, now in RENAMED.items()}
        arrays = {earlier_names.get(name, name): a for name, a in arrays.items()}
    sums = {"checksum": np.array(files.checksum(header, arrays))} if number == 3 else {}
    return {"header": header, **arrays, **sums}


def _without_version(members: dict[str, Any]) -> dict[str, Any]:
    """The same file before versions of the specification were written."""
    head = json.loads(bytes(members["header"]))
    del head["spec_version"]
    return members | {"header": np.frombuffer(json.dumps(head).encode(), np.uint8)}


def changed_arrays(members: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each nonempty array of a file, with another last entry."""
    for name in sorted(members.keys() - {"header", "checksum"}):
        if members[name].size:
            changed = np.array(members[name])
            changed.reshape(-1)[-1] += 1
            yield name, changed


def read_members(data: bytes) -> dict[str, Any]:
    """The members of an archive by name."""
    with np.load(io.BytesIO(data)) as file:
        return {name: file[name] for name in file.files}


def with_member_without_ending(data: bytes) -> bytes:
    """The archive without the ending in the name of its last member."""
    return _with_last_member(data, lambda name, content: (name.removesuffix(".npy"), content))


def with_longer_member(data: bytes) -> bytes:
    """The archive with eight more bytes at the end of its last member."""
    return _with_last_member(data, lambda name, content: (name, content + bytes(8)))


def _with_last_member(data: bytes, change: Callable[[str, bytes], tuple[str, bytes]]) -> bytes:
    """The archive with another name and content of its last member."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as given, zipfile.ZipFile(stream, "w") as changed:
        *rest, last = given.namelist()
        for name in rest:
            changed.writestr(name, given.read(name))
        changed.writestr(*change(last, given.read(last)))
    return stream.getvalue()


def with_longer_headers(data: bytes, rule: int = 0, state: int = 0) -> bytes:
    """The bytes of a learner that claim headers longer by these numbers of bytes, with the right checksum."""
    length, of_rule, of_state = binary.LENGTHS.unpack_from(data, binary.PREFIX.size)
    body = binary.LENGTHS.pack(length, of_rule + rule, of_state + state) + data[binary.START :]
    return binary.PREFIX.pack(binary.MAGIC, binary.VERSION, zlib.crc32(body)) + body


def _with_changed_byte(members: dict[str, Any], name: str, rng: Any) -> bytes:
    """An archive of the members with a byte of one of them changed, if it has any."""
    raw = bytearray(members[name].tobytes())
    if raw:
        raw[rng.integers(len(raw))] ^= 1
    changed = np.frombuffer(bytes(raw), members[name].dtype).reshape(members[name].shape)
    return _archive(members | {name: changed})


def _archive(members: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=False, **members)
    return stream.getvalue()


def _ensure_refused_or_equal(context: CheckContext, damaged: Iterator[tuple[str, bytes]], data: bytes) -> None:
    """Each file must raise ValueError, or give the learner of the original file `data`, if that is given."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "state.npz")
        if data:
            path.write_bytes(data)
            want = load(path, **context.model)
        for what, content in damaged:
            path.write_bytes(content)
            try:
                found = load(path, **context.model)
            except ValueError as error:
                ensure(str(error), f"{what}: the error has no message")
            else:
                ensure(data, f"{what}: a learner was read")
                context.ensure_identical(found, want, f"{what}: another learner was read")
