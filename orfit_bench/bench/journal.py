"""The journal of a run: one file for each finished cell, so that a run that was killed can go on."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from orfit_bench.files import replace


class Journal:
    """A folder beside the results. A record counts only for a run of the same versions, machine and commit."""

    def __init__(self, output: Path, provenance: dict[str, Any]) -> None:
        self.folder = output.with_name(output.name + ".journal")
        self._identity = hashlib.sha256(json.dumps(provenance, sort_keys=True).encode()).hexdigest()

    def read(self) -> dict[str, dict[str, Any]]:
        """The records that count, by the keys of their cells."""
        entries = (_entry(path) for path in sorted(self.folder.glob("*.json")))
        records = [e["record"] for e in entries if e.get("identity") == self._identity]
        return {record["key"]: record for record in records}

    def write(self, record: dict[str, Any]) -> None:
        """Keep a record; a kill at any moment leaves the whole file or none."""
        self.folder.mkdir(exist_ok=True)
        text = json.dumps({"identity": self._identity, "record": record})
        replace(self.folder / f"{record['key']}.json", lambda path: path.write_text(text, encoding="utf-8"))

    def remove(self) -> None:
        """Forget all records."""
        if self.folder.exists():
            shutil.rmtree(self.folder)


def _entry(path: Path) -> dict[str, Any]:
    try:
        entry = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # not ours, or damaged: its cell is run again
        return {}
    return entry if isinstance(entry, dict) else {}
