"""Reports of `orfit-bench conform`: terminal, JSON, JUnit and HTML."""

import json
import math
import shlex
from xml.etree import ElementTree as ET

import pytest
from helpers.conform import call

from orfit_bench.conformance import CheckResult, Report
from orfit_bench.conformance.export import RunInfo, as_json, as_junit
from orfit_bench.conformance.result import EXPECTED, FAILED, PASSED, SKIPPED, UNPROVEN
from orfit_bench.report.conformance import markdown

pytestmark = pytest.mark.integration


def test_terminal_shows_counts_failures_and_commands_to_repeat_them(ran, report):
    rows = {tuple(line.split()) for line in ran.stdout.splitlines()}
    assert ("lms", "fragile", "cpu", "float64", "1", "1", "0", "0", "0", "0") in rows
    assert ("ogd", "fragile", "cpu", "float64", "0", "1", "0", "1", "0") in rows
    assert ("lms", "fragile", "yes", "no", "-", "-", "yes", "no") in rows
    assert "not supported: models of lms on fragile: not written yet" in ran.stdout
    for record in report["results"]:
        printed = record["repeat"] in ran.stdout and record["reason"] in ran.stdout
        assert printed == (record["status"] != PASSED)
    assert ran.stdout.splitlines()[-1].startswith("12 checks ran on cpu in ")
    assert ran.stdout.endswith("1 passed, 10 failed, 1 expected failure. Not conforming.\n")


def test_failures_are_printed_to_stderr_as_they_occur(ran):
    lines = [line for line in ran.stderr.splitlines() if line.startswith("[")]
    assert len(lines) == 10
    assert any("any_chunking of icl on fragile (float64): failed: stopped after 3 s" in line for line in lines)


def test_json_contains_the_complete_report(report):
    assert (report["schema"], report["passed"], report["partial"]) == (2, False, True)
    assert report["counts"] == {PASSED: 1, FAILED: 10, UNPROVEN: 0, EXPECTED: 1, SKIPPED: 0}
    assert report["versions"]["fragile"] == "0.1"
    assert set(report["machine"]["threads"].values()) == {"1"}
    assert report["command"] == ("orfit-bench conform fragile --check any_chunking --check row_by_row --dtype float64")
    assert {"method": "lms", "backend": "fragile", "capability": "models", "offered": False} | {
        "reason": "not written yet"
    } in report["capabilities"]
    assert set(report["results"][0]) == {*CheckResult.__dataclass_fields__, "repeat"}


def test_junit_has_a_case_for_every_result_and_problem(here, report):
    suite = ET.parse(here[0] / "all.xml").getroot().find("testsuite")
    cases = suite.findall("testcase")
    assert len(cases) == len(report["results"]) + len(report["problems"]) == int(suite.get("tests"))
    assert len(suite.findall("testcase/failure")) == int(suite.get("failures")) == 10 + len(report["problems"])
    assert len(suite.findall("testcase/skipped")) == int(suite.get("skipped")) == 1
    for case, record in zip(cases, report["results"], strict=False):
        assert case.get("classname") == f"fragile.{record['method']}"
        assert case.get("name") == f"{record['check']}[float64]"
        properties = {p.get("name"): p.get("value") for p in case.iter("property")}
        names = "deviation", "bound", "device", "dtype", "seed", "repeat"
        assert properties == {name: str(record[name]) for name in names if record[name] is not None}
        (outcome,) = [*case.findall("failure"), *case.findall("skipped")] or [None]
        assert (outcome is None) == (record["status"] == PASSED)
        assert outcome is None or outcome.get("message") == record["reason"]


def test_page_shows_counts_expected_failures_and_the_command(here, report):
    page = (here[0] / "all.md").read_text()
    assert "| lms | 1 passed, 1 failed; 0 |" in page
    assert "| ogd | 0 passed, 1 failed, 1 expected failure |" in page
    assert "| lms | fragile | yes | no | - | - | yes | no |" in page
    assert "## Expected failures" in page
    assert "any\\_chunking of ogd on fragile (float64): it crashes, we know \\[why\\|how\\]" in page
    assert f"- command: `{report['command']}`" in page
    assert report["date"] in page


@pytest.mark.parametrize(
    ("method", "check"),
    [("lms", "any_chunking"), ("lms", "row_by_row"), ("nlms", "any_chunking"), ("ogd", "any_chunking")],
)
def test_printed_command_repeats_the_check(here, report, method, check):
    (record,) = (r for r in report["results"] if (r["method"], r["check"]) == (method, check))
    program, *arguments = shlex.split(record["repeat"])
    assert program == "orfit-bench"
    again = call(here, *arguments, "--json", "again.json")
    assert again.returncode == (record["status"] == FAILED)
    assert json.loads((here[0] / "again.json").read_text())["results"] == [record]


RUN = RunInfo(
    "orfit-bench conform x", 1.5, "2026-01-02T03:04:05+00:00", {"versions": {"numpy": "2"}, "machine": {"cpu": "c"}}
)


def created(reason="", status=FAILED, deviation=None, bound=None, check="one"):
    return CheckResult(check, "x", "back", "float64", 0, "cpu", status, reason, deviation, bound)


def test_json_is_strict_and_preserves_numbers():
    values = math.inf, -math.inf, math.nan, 0.5
    report = Report([created(deviation=v, bound=1e-300) for v in values], {})
    records = json.loads(as_json(report, RUN), parse_constant=pytest.fail)["results"]
    got = [float(r["deviation"]) for r in records]
    assert got[:2] + got[3:] == [math.inf, -math.inf, 0.5]
    assert math.isnan(got[2])
    assert [r["bound"] for r in records] == [1e-300] * 4


def test_junit_escapes_characters_that_xml_forbids():
    reason = "a\x00b\x1b[31mc\ud800 <&> \U0001f600"
    suite = ET.fromstring(as_junit(Report([created(reason)], {}), RUN)).find("testsuite")
    assert suite.find("testcase/failure").get("message") == "a�b�[31mc� <&> \U0001f600"


def test_junit_fails_if_nothing_ran():
    suite = ET.fromstring(as_junit(Report([], {}, ["no checks ran: why"]), RUN)).find("testsuite")
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert suite.find("testcase/failure").get("message") == "no checks ran: why"


def test_page_shows_a_largest_ratio_that_is_not_finite():
    records = [
        created("", PASSED, 1e-16, 1e-15),
        created("", PASSED, 5e-16, 1e-15),
        created("off", FAILED, math.nan, 1e-15),
    ]
    assert "| x | 2 passed; 0.5 |" in markdown(Report(records[:2], {}), RUN)
    assert "| x | 2 passed, 1 failed; inf |" in markdown(Report(records, {}), RUN)


def test_names_in_printed_commands_are_quoted():
    record = created(check="law_of $x; twice")
    assert shlex.split(record.repeat)[-2:] == ["--check", "law_of $x; twice"]
