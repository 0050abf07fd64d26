"""The journal of a run: one file per finished job, so that an interrupted run can be resumed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from orfit_bench.jobs.files import digest, replace
from orfit_bench.jobs.keys import make_key


class Journal:
    """Finished records, in a folder next to the results.

    A record is valid only for a run with the same versions, machine, commit and data. Several commands may share an
    output, therefore the folder may contain records of others, which are left unchanged.

    Parameters
    ----------
    output : Path
        The file of the results.
    provenance : dict
        Versions, machine and commit, see `orfit_bench.jobs.provenance`.
    data : callable
        Returns the user's files from which the rows are made. It is called for every access, since the first run may
        download them.
    """

    def __init__(
        self, output: Path, provenance: dict[str, Any], data: Callable[[], Iterable[Path]] = lambda: ()
    ) -> None:
        self.folder = folder_of(output)
        self._provenance, self._data = provenance, data

    def identity(self) -> str:
        """Return a key that must be equal for records to be combined."""
        return make_key([self._provenance, digest(self._data())])

    def read(self) -> dict[str, dict[str, Any]]:
        """Return the valid records by their keys."""
        entries = (_entry(path) for path in sorted(self.folder.glob("*.json")))
        identity = self.identity()
        records = [e["record"] for e in entries if e.get("identity") == identity]
        return {record["key"]: record for record in records}

    def write(self, record: dict[str, Any]) -> None:
        """Store a record atomically."""
        self.folder.mkdir(exist_ok=True)
        text = json.dumps({"identity": self.identity(), "record": record})
        replace(self.folder / f"{record['key']}.json", lambda path: path.write_text(text, encoding="utf-8"))

    def remove(self, keys: Iterable[str]) -> None:
        """Delete the records with these keys, and the folder if it becomes empty."""
        for key in keys:
            (self.folder / f"{key}.json").unlink(missing_ok=True)
            for partial in self.folder.glob(f".{key}.json.*.tmp"):  # left by a run that was killed while writing
                partial.unlink(missing_ok=True)
        with suppress(OSError):  # not empty, or never created
            self.folder.rmdir()


def folder_of(output: Path) -> Path:
    """Return the folder of the journal of these results."""
    return output.with_name(output.name + ".journal")


def _entry(path: Path) -> dict[str, Any]:
    try:
        entry = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # foreign or damaged: the job is run again
        return {}
    return entry if isinstance(entry, dict) else {}
