"""A report as a JSON document."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Self

from orfit_bench.conformance.record import Record, Report


@dataclass(frozen=True, slots=True)
class Ran:
    """How a report was made."""

    command: str
    date: str
    seconds: float
    provenance: Mapping[str, Any]

    @classmethod
    def of(cls, command: str, seconds: float, threads: Mapping[str, str]) -> Self:
        """Of a run that ends now."""
        return cls(command, datetime.now(UTC).isoformat(timespec="seconds"), seconds, {"threads": dict(threads)})


def as_json(report: Report, ran: Ran) -> str:
    """The report; a number that is not finite is a text, which JSON has no other word for."""
    capabilities = [{"backend": b, "method": m, "lacks": c} for (b, m), c in report.capabilities.items()]
    whole = {"passed": report.passed, "partial": report.partial, "counts": report.counts, "problems": report.problems}
    records = [_plain(record) for record in report.records]
    document = asdict(ran) | whole | {"capabilities": capabilities, "records": records}
    return json.dumps(document, indent=1, allow_nan=False)


def _plain(record: Record) -> dict[str, Any]:
    said = asdict(record) | {"repeat": record.repeat}
    return {k: str(v) if isinstance(v, float) and not math.isfinite(v) else v for k, v in said.items()}
