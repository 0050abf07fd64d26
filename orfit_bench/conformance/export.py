"""A report as files: JSON with all results, and JUnit for continuous integration."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree as ET

from orfit_bench.conformance.result import EXPECTED, FAILED, SKIPPED, UNPROVEN, CheckResult, Report, Status
from orfit_bench.jobs.provenance import provenance

SCHEMA = 2
"""Version of the JSON, increased if readers must change. In version 1, "results" was called "records"."""
NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that are not allowed in XML, not even escaped."""


@dataclass(frozen=True, slots=True)
class RunInfo:
    """The command of a run, its duration in seconds, its end, and the machine and versions."""

    command: str
    seconds: float
    date: str
    provenance: dict[str, Any]

    @classmethod
    def now(cls, command: str, seconds: float, threads: dict[str, str]) -> RunInfo:
        """A run that has just finished; `threads` are the BLAS settings in the environment of the checks."""
        return cls(command, seconds, datetime.now(UTC).isoformat(timespec="seconds"), provenance(threads))


def as_json(report: Report, run: RunInfo) -> str:
    """The report as JSON. Numbers that JSON cannot represent are strings that `float` reads: "inf", "nan"."""
    content = {
        "schema": SCHEMA,
        "passed": report.passed,
        "verdict": report.verdict,
        "partial": report.partial,
        "command": run.command,
        "date": run.date,
        "seconds": round(run.seconds, 3),
        **run.provenance,
        "counts": report.counts,
        "problems": report.problems,
        "capabilities": [
            {"method": method, "backend": backend, "capability": name, "offered": not reason, "reason": reason}
            for (backend, method), all_of in report.capabilities.items()
            for name, reason in all_of.items()
        ],
        "results": [_finite(result.to_dict()) for result in report.results],
    }
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    return {name: str(v) if isinstance(v, float) and not math.isfinite(v) else v for name, v in values.items()}


def as_junit(report: Report, run: RunInfo) -> bytes:
    """A test case for each result and each problem; expected failures are marked as skipped, as in pytest."""
    suites = ET.Element("testsuites")
    counts = report.counts
    failing: list[Status] = [FAILED] if report.allow_unproven else [FAILED, UNPROVEN]
    failed = sum(counts[status] for status in failing) + len(report.problems)
    skipped = counts[SKIPPED] + counts[EXPECTED] + counts[UNPROVEN] * report.allow_unproven
    totals = {"tests": len(report.results) + len(report.problems), "failures": failed, "errors": 0, "skipped": skipped}
    when = {"time": f"{run.seconds:.3f}", "timestamp": run.date}
    suite = _add(suites, "testsuite", name="orfit-bench conform", **totals, **when)
    listed = _add(suite, "properties")
    for number, line in enumerate(report.unsupported(), 1):
        _add(listed, "property", name=f"not supported {number}", value=line)
    for number, line in enumerate(report.notes(), 1):
        _add(listed, "property", name=f"note {number}", value=line)
    for result in report.results:
        _testcase(suite, result, failing)
    for number, problem in enumerate(report.problems, 1):
        case = _add(suite, "testcase", classname="orfit-bench.conform", name=f"problem {number}")
        _add(case, "failure", type="problem", message=problem)
    return bytes(ET.tostring(suites, encoding="utf-8", xml_declaration=True))


def _testcase(suite: ET.Element, result: CheckResult, failing: Collection[str]) -> None:
    who = {"classname": f"{result.backend}.{result.method}", "name": f"{result.check}[{result.dtype}]"}
    case = _add(suite, "testcase", **who)
    listed = _add(case, "properties")
    for name in ("deviation", "bound", "device", "dtype", "seed", "repeat"):
        if (value := getattr(result, name)) is not None:
            _add(listed, "property", name=name, value=value)
    if result.status in failing:
        failure = _add(case, "failure", type=result.status, message=result.reason)
        failure.text = _clean(f"{result.reason}\n{result.repeat}")
    elif result.status in (EXPECTED, SKIPPED, UNPROVEN):
        _add(case, "skipped", type=result.status, message=result.reason)


def _add(parent: ET.Element, tag: str, **attributes: Any) -> ET.Element:
    return ET.SubElement(parent, tag, {name: _clean(str(value)) for name, value in attributes.items()})


def _clean(text: str) -> str:
    return NOT_XML.sub("\ufffd", text)
