"""The journal of a run: one file for each finished piece of work, so that a run that was killed can go on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from orfit_bench.jobs.files import digest, replace
from orfit_bench.jobs.keys import make_key


class Journal:
    """A folder beside the results. A record counts only for a run of the same versions, machine, commit and data.

    data() are the user's files that rows are made of, looked at whenever a record is read or written: a first run may
    fetch them.

    Commands that differ may share an output, so the folder may hold records of others, which are left alone.
    """

    def __init__(
        self, output: Path, provenance: dict[str, Any], data: Callable[[], Iterable[Path]] = lambda: ()
    ) -> None:
        self.folder = folder_of(output)
        self._provenance, self._data = provenance, data

    def identity(self) -> str:
        """What must agree before records may stand in one file."""
        return make_key([self._provenance, digest(self._data())])

    def read(self) -> dict[str, dict[str, Any]]:
        """The records that count, by their keys."""
        entries = (_entry(path) for path in sorted(self.folder.glob("*.json")))
        identity = self.identity()
        records = [e["record"] for e in entries if e.get("identity") == identity]
        return {record["key"]: record for record in records}

    def write(self, record: dict[str, Any]) -> None:
        """Keep a record; a kill at any moment leaves the whole file or none."""
        self.folder.mkdir(exist_ok=True)
        text = json.dumps({"identity": self.identity(), "record": record})
        replace(self.folder / f"{record['key']}.json", lambda path: path.write_text(text, encoding="utf-8"))

    def remove(self, keys: Iterable[str]) -> None:
        """Forget the records with these keys, and the folder where nothing is left in it."""
        for key in keys:
            (self.folder / f"{key}.json").unlink(missing_ok=True)
            for half in self.folder.glob(f".{key}.json.*.tmp"):  # of a run that was killed while it wrote
                half.unlink(missing_ok=True)
        with suppress(OSError):  # not empty, or never made
            self.folder.rmdir()


def folder_of(output: Path) -> Path:
    """Where the journal of the results in output lies."""
    return output.with_name(output.name + ".journal")


def _entry(path: Path) -> dict[str, Any]:
    try:
        entry = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # not ours, or damaged: its work is done again
        return {}
    return entry if isinstance(entry, dict) else {}
