"""A report for machines: JSON that keeps everything, and JUnit for the pages of a continuous integration."""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree as ET

from orfit_bench.conformance.record import EXPECTED, FAILED, SKIPPED, Record, Report
from orfit_bench.jobs.provenance import provenance

SCHEMA = 1
"""Raised when a reader of the JSON must change."""
NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML document may hold, not even escaped."""


@dataclass(frozen=True, slots=True)
class Ran:
    """By which command a report came about, when it was finished, how long it took, and on what."""

    command: str
    seconds: float
    date: str
    provenance: dict[str, Any]

    @classmethod
    def now(cls, command: str, seconds: float, threads: dict[str, str]) -> Ran:
        """What has just ended here; threads is what the environment of the checks said about BLAS."""
        return cls(command, seconds, datetime.now(UTC).isoformat(timespec="seconds"), provenance(threads))


def as_json(report: Report, ran: Ran) -> str:
    """All that is known. A number that JSON has no word for is a text that `float` reads: "inf", "nan"."""
    made = {
        "schema": SCHEMA,
        "passed": report.passed,
        "partial": report.partial,
        "command": ran.command,
        "date": ran.date,
        "seconds": round(ran.seconds, 3),
        **ran.provenance,
        "counts": report.counts,
        "problems": report.problems,
        "capabilities": [
            {"method": method, "backend": backend, "capability": name, "offered": not reason, "reason": reason}
            for (backend, method), all_of in report.capabilities.items()
            for name, reason in all_of.items()
        ],
        "records": [_plain(record) for record in report.records],
    }
    return json.dumps(made, indent=1, allow_nan=False) + "\n"


def _plain(record: Record) -> dict[str, Any]:
    told = asdict(record) | {"repeat": record.repeat}
    return {name: str(v) if isinstance(v, float) and not math.isfinite(v) else v for name, v in told.items()}


def as_junit(report: Report, ran: Ran) -> bytes:
    """A test case for each record and each problem; an expected failure is a skipped one, as pytest writes it."""
    suites = ET.Element("testsuites")
    counts = report.counts
    skipped, failed = counts[SKIPPED] + counts[EXPECTED], counts[FAILED] + len(report.problems)
    totals = {"tests": len(report.records) + len(report.problems), "failures": failed, "errors": 0, "skipped": skipped}
    when = {"time": f"{ran.seconds:.3f}", "timestamp": ran.date}
    suite = _add(suites, "testsuite", name="orfit-bench conform", **totals, **when)
    for record in report.records:
        _testcase(suite, record)
    for number, problem in enumerate(report.problems, 1):
        case = _add(suite, "testcase", classname="orfit-bench.conform", name=f"problem {number}")
        _add(case, "failure", type="problem", message=problem)
    return bytes(ET.tostring(suites, encoding="utf-8", xml_declaration=True))


def _testcase(suite: ET.Element, record: Record) -> None:
    who = {"classname": f"{record.backend}.{record.method}", "name": f"{record.check}[{record.dtype}]"}
    case = _add(suite, "testcase", **who)
    listed = _add(case, "properties")
    for name in ("deviation", "bound", "device", "dtype", "seed", "repeat"):
        if (value := getattr(record, name)) is not None:
            _add(listed, "property", name=name, value=value)
    if record.status == FAILED:
        _add(case, "failure", type="failed", message=record.reason).text = _clean(f"{record.reason}\n{record.repeat}")
    elif record.status in (EXPECTED, SKIPPED):
        _add(case, "skipped", type=record.status, message=record.reason)


def _add(parent: ET.Element, tag: str, **attributes: Any) -> ET.Element:
    return ET.SubElement(parent, tag, {name: _clean(str(value)) for name, value in attributes.items()})


def _clean(text: str) -> str:
    return NOT_XML.sub("\ufffd", text)
