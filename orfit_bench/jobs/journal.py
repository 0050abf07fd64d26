"""The journal of a run: one file per finished job, so that an interrupted run can be resumed."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from orfit_bench.jobs import locks, system
from orfit_bench.jobs.files import digest, make_folder, replace_text
from orfit_bench.jobs.keys import make_key

ENDING = ".journal"
"""The ending of the folders of journals."""


class Journal:
    """Finished records, in a folder next to the results.

    A record is valid only for a run with the same versions, machine, commit and data. Since several commands can share
    an output, the folder may contain records of other commands, which are left unchanged.

    Parameters
    ----------
    output : Path
        The file of the results.
    provenance : dict
        Versions, machine and commit, see `orfit_bench.jobs.provenance`.
    data : callable
        Returns the user's files from which the rows are read. It is called at every access, since the first run may
        download them.
    kind : str, optional
        Letters that distinguish records which do not replace each other, such as those of timed and untimed cells.
    """

    def __init__(
        self,
        output: Path,
        provenance: dict[str, Any],
        data: Callable[[], Iterable[Path]] = lambda: (),
        kind: str = "",
    ) -> None:
        self.folder = folder_of(output)
        self._provenance, self._data = provenance, data
        self._ending = f".{kind}.json" if kind else ".json"

    def identity(self) -> str:
        """Return a key that must be equal for records to be combined."""
        return make_key([self._provenance, digest({str(path): path for path in self._data()})])

    def read(self) -> dict[str, dict[str, Any]]:
        """Return the valid records by their keys. A damaged file is named by a warning; its job is run again."""
        locks.remove_matching(self.folder, ".*.json.*.tmp")
        identity = self.identity()
        records = {}
        for path in sorted(self.folder.glob("*.json")):
            if path.name != f"{_key_of(path)}{self._ending}":
                continue
            try:
                entry = read_entry(path)
            except ValueError as error:
                warnings.warn(f"{error}; its job is run again", UserWarning, stacklevel=2)
                continue
            if entry["identity"] == identity:
                records[_key_of(path)] = entry["record"]
        return records

    def write(self, record: dict[str, Any]) -> None:
        """Store a record atomically."""
        make_folder(self.folder)
        content = {"identity": self.identity(), "record": record}
        replace_text(self._file(record["key"]), json.dumps({"digest": _digest(content), **content}))

    def remove(self, keys: Iterable[str]) -> None:
        """Delete the records with these keys, and the folder if it becomes empty."""
        for key in keys:
            with suppress(FileNotFoundError):
                system.remove(self._file(key))
        locks.remove_matching(self.folder, ".*.json.*.tmp")
        with suppress(OSError):  # not empty, or never created
            self.folder.rmdir()

    def _file(self, key: str) -> Path:
        return self.folder / f"{key}{self._ending}"


def discard(output: Path) -> None:
    """Delete all records stored next to these results, regardless of their run."""
    for path in folder_of(output).glob("*.json"):
        path.unlink()


def folder_of(output: Path) -> Path:
    """Return the folder of the journal of these results, next to the file, or to the target of a link."""
    return Path(f"{system.follow(output)}{ENDING}")


def read_entry(path: Path) -> dict[str, Any]:
    """The identity and the record in a file of a journal. Raises ValueError that names the file if it is damaged."""
    try:
        entry = json.loads(system.read(path))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: this entry of the journal cannot be read ({error})") from error
    content = {name: entry.get(name) for name in ("identity", "record")} if isinstance(entry, dict) else {}
    record = content.get("record")
    if not isinstance(record, dict) or record.get("key") != _key_of(path):
        raise ValueError(f"{path}: this entry of the journal has no record with the key {_key_of(path)!r}")
    if entry.get("digest") != _digest(content):
        raise ValueError(f"{path}: the digest of this entry of the journal does not fit: it is damaged or was changed")
    return content


def _key_of(path: Path) -> str:
    """The key of the record in a file."""
    return path.name.partition(".")[0]


def _digest(content: dict[str, Any]) -> str:
    """A hash of an entry, which writing and reading do not change."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
