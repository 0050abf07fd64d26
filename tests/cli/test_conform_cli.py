"""`orfit-bench conform`: what it prints and writes, how it ends, and which kernels cannot take it down."""

import json
import math
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner
from helpers.cases import offering

import orfit_bench as ob
from orfit_bench.cli import conform as cli_conform
from orfit_bench.cli import main
from orfit_bench.conformance import CheckResult, Report, conform, isolated
from orfit_bench.conformance.export import RunInfo, as_json, as_junit
from orfit_bench.conformance.isolated import conform_isolated
from orfit_bench.conformance.result import EXPECTED, FAILED, PASSED, SKIPPED
from orfit_bench.report.conformance import markdown

COMMAND = [sys.executable, "-c", "from orfit_bench.cli import main; main()"]
PLUGIN = """
import os, sys, time
from types import SimpleNamespace
import numpy as np
from orfit_bench import hookimpl
from orfit_bench.spec import Backend

SPEC_VERSION = (1, 0)

def learn(s, X, Y, p, out):
    for i in range(len(X)):
        f = X[i : i + 1] @ s.w
        if out is not None:
            out[i] = f
        s.w[...] = s.w + p.step_size[i] * X[i : i + 1].T @ (Y[i] - f)
    return len(X)

def aborts(*_):
    os.abort()

def leaves(*_):
    os._exit(3)

def interrupts(*_):
    raise KeyboardInterrupt

def hangs(*_):
    with open(os.environ["FRAGILE_LOG"], "a") as log:
        print(os.getpid(), file=log)
    while True:
        try:
            time.sleep(1000)
        except KeyboardInterrupt:
            pass

def kernel(does, lacks=(), **expected):
    offers = dict.fromkeys(("learn", "update", "step", "store"), does)
    return SimpleNamespace(**offers, LACKS={name: "not written yet" for name in lacks}, EXPECTED_FAILURES=expected)

@hookimpl
def backends():
    return (Backend("fragile", "it breaks in every way there is", namespace=lambda: np),)

@hookimpl
def kernels():
    return {
        ("fragile", "lms"): kernel(learn, ("models",), row_by_row="it is said to be wrong"),
        ("fragile", "nlms"): kernel(aborts),
        ("fragile", "apa"): kernel(leaves),
        ("fragile", "icl"): kernel(hangs),
        ("fragile", "ogd"): kernel(aborts, any_chunking="it crashes, we know [why|how]"),
        ("fragile", "rls"): kernel(interrupts),
        ("fragile", "sgd"): "fragile_import",
    }
"""


def install(folder: Path) -> None:
    """The distribution `fragile`, as pip would leave it in folder."""
    folder.mkdir()
    (folder / "fragile.py").write_text(PLUGIN)
    (folder / "fragile_import.py").write_text("import os\nos._exit(5)\n")
    info = folder / "fragile-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fragile\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text("[orfit_bench]\nfragile = fragile\n")


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A folder, and the environment of a process that has the plugin installed."""
    folder = tmp_path_factory.mktemp("conform")
    install(folder / "site")
    path = os.pathsep.join(filter(None, [str(folder / "site"), os.environ.get("PYTHONPATH")]))
    return folder, {**os.environ, "PYTHONPATH": path, "FRAGILE_LOG": str(folder / "log")}


def call(here, *arguments):
    folder, environment = here
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], env=environment, cwd=folder, capture_output=True, text=True, timeout=120
    )


@pytest.fixture(scope="module")
def ran(here):
    """Every kernel of the plugin under two checks, with all files written."""
    files = "--json", "all.json", "--junit", "all.xml", "--markdown", "all.md"
    checks = "--check", "any_chunking", "--check", "row_by_row"
    return call(here, "conform", "fragile", *checks, "--dtype", "float64", "--timeout", "3", "--workers", "2", *files)


@pytest.fixture(scope="module")
def told(here, ran):
    """The JSON of that run."""
    return json.loads((here[0] / "all.json").read_text())


def invoke(*arguments):
    return CliRunner().invoke(main, ["conform", *map(str, arguments)])


# ---------------------------------------------------------------------- kernels that break


def test_a_kernel_that_hangs_costs_a_few_time_limits_and_no_more(here):
    result = call(
        here, "conform", "icl", "--backend", "fragile", "--dtype", "float64", "--timeout", "1", "--workers", "2"
    )
    stopped, untried = result.stderr.count("failed: stopped after 1 s"), result.stderr.count("failed: not run: ")
    assert result.returncode == 1
    assert isolated.MAX_TIMEOUTS <= stopped <= isolated.MAX_TIMEOUTS + 1  # one more was on its way
    assert untried > 20


def found(told, method, check="any_chunking"):
    (record,) = (r for r in told["results"] if (r["method"], r["check"]) == (method, check))
    return record["status"], record["reason"]


def test_a_kernel_that_breaks_costs_its_own_checks(ran, told):
    assert ran.returncode == 1
    assert found(told, "lms") == (PASSED, "")
    for check in ("any_chunking", "row_by_row"):
        aborted = f"the worker process was killed by signal {int(signal.SIGABRT)} (Aborted)"
        assert found(told, "nlms", check) == (FAILED, aborted)
        assert found(told, "apa", check) == (FAILED, "the worker process ended with exit code 3")
        assert found(told, "icl", check) == (FAILED, "stopped after 3 s")
        assert found(told, "rls", check) == (FAILED, "raised KeyboardInterrupt")


def test_an_expected_failure_is_none_and_one_that_passes_is(told):
    status, reason = found(told, "ogd")
    assert status == EXPECTED
    assert reason.startswith("it crashes, we know [why|how] (the worker process was killed by signal")
    status, reason = found(told, "lms", "row_by_row")
    assert status == FAILED
    assert reason.startswith("expected to fail (it is said to be wrong), but it passed")


def test_a_kernel_that_cannot_be_loaded_is_a_problem(ran, told):
    assert "sgd on fragile cannot be checked: the worker process ended with exit code 5" in told["problems"]
    assert "problem: sgd on fragile cannot be checked" in ran.stdout
    assert "sgd" not in {r["method"] for r in told["results"]}


def test_records_stand_in_the_order_of_the_plan(told):
    who = [(r["method"], r["check"]) for r in told["results"]]
    assert who == [(m, c) for m in ("apa", "icl", "lms", "nlms", "ogd", "rls") for c in ("any_chunking", "row_by_row")]


# ---------------------------------------------------------------------- what is printed and written


def test_the_terminal_shows_counts_failures_and_how_to_repeat_them(ran, told):
    rows = {tuple(line.split()) for line in ran.stdout.splitlines()}
    assert ("lms", "fragile", "cpu", "float64", "1", "1", "0", "0", "0") in rows
    assert ("ogd", "fragile", "cpu", "float64", "0", "1", "1", "0") in rows
    assert ("lms", "fragile", "yes", "no", "-", "-", "yes") in rows
    assert "not supported: models of lms on fragile: not written yet" in ran.stdout
    for record in told["results"]:
        printed = record["repeat"] in ran.stdout and record["reason"] in ran.stdout
        assert printed == (record["status"] != PASSED)
    assert ran.stdout.splitlines()[-1].startswith("12 checks ran on cpu in ")
    assert ran.stdout.endswith("1 passed, 10 failed, 1 expected failure. Not conforming.\n")


def test_stderr_tells_of_every_failure_as_it_comes(ran):
    lines = [line for line in ran.stderr.splitlines() if line.startswith("[")]
    assert len(lines) == 10
    assert any("any_chunking of icl on fragile (float64): failed: stopped after 3 s" in line for line in lines)


def test_the_json_holds_all_that_is_known(told):
    assert (told["schema"], told["passed"], told["partial"]) == (2, False, True)
    assert told["counts"] == {PASSED: 1, FAILED: 10, EXPECTED: 1, SKIPPED: 0}
    assert told["versions"]["fragile"] == "0.1"
    assert set(told["machine"]["threads"].values()) == {"1"}
    assert told["command"] == ("orfit-bench conform fragile --check any_chunking --check row_by_row --dtype float64")
    assert {"method": "lms", "backend": "fragile", "capability": "models", "offered": False} | {
        "reason": "not written yet"
    } in told["capabilities"]
    assert set(told["results"][0]) == {*CheckResult.__dataclass_fields__, "repeat"}


def test_junit_has_a_case_for_every_record_and_problem(here, told):
    suite = ET.parse(here[0] / "all.xml").getroot().find("testsuite")
    cases = suite.findall("testcase")
    assert len(cases) == len(told["results"]) + len(told["problems"]) == int(suite.get("tests"))
    assert len(suite.findall("testcase/failure")) == int(suite.get("failures")) == 10 + len(told["problems"])
    assert len(suite.findall("testcase/skipped")) == int(suite.get("skipped")) == 1
    for case, record in zip(cases, told["results"], strict=False):
        assert case.get("classname") == f"fragile.{record['method']}"
        assert case.get("name") == f"{record['check']}[float64]"
        properties = {p.get("name"): p.get("value") for p in case.iter("property")}
        names = "deviation", "bound", "device", "dtype", "seed", "repeat"
        assert properties == {name: str(record[name]) for name in names if record[name] is not None}
        (outcome,) = [*case.findall("failure"), *case.findall("skipped")] or [None]
        assert (outcome is None) == (record["status"] == PASSED)
        assert outcome is None or outcome.get("message") == record["reason"]


def test_the_page_shows_counts_expected_failures_and_the_command(here, told):
    page = (here[0] / "all.md").read_text()
    assert "| lms | 1 passed, 1 failed; 0 |" in page
    assert "| ogd | 0 passed, 1 failed, 1 expected failure |" in page
    assert "| lms | fragile | yes | no | - | - | yes |" in page
    assert "## Expected failures" in page
    assert "any\\_chunking of ogd on fragile (float64): it crashes, we know \\[why\\|how\\]" in page
    assert f"- command: `{told['command']}`" in page
    assert told["date"] in page


@pytest.mark.parametrize(
    ("method", "check"),
    [("lms", "any_chunking"), ("lms", "row_by_row"), ("nlms", "any_chunking"), ("ogd", "any_chunking")],
)
def test_the_line_that_repeats_a_check_does(here, told, method, check):
    (record,) = (r for r in told["results"] if (r["method"], r["check"]) == (method, check))
    program, *arguments = shlex.split(record["repeat"])
    assert program == "orfit-bench"
    again = call(here, *arguments, "--json", "again.json")
    assert again.returncode == (record["status"] == FAILED)
    assert json.loads((here[0] / "again.json").read_text())["results"] == [record]


# ---------------------------------------------------------------------- made reports

RUN = RunInfo(
    "orfit-bench conform x", 1.5, "2026-01-02T03:04:05+00:00", {"versions": {"numpy": "2"}, "machine": {"cpu": "c"}}
)


def made(reason="", status=FAILED, deviation=None, bound=None, check="one"):
    return CheckResult(check, "x", "back", "float64", 0, "cpu", status, reason, deviation, bound)


def test_json_is_strict_and_numbers_come_back():
    values = math.inf, -math.inf, math.nan, 0.5
    report = Report([made(deviation=v, bound=1e-300) for v in values], {})
    records = json.loads(as_json(report, RUN), parse_constant=pytest.fail)["results"]
    got = [float(r["deviation"]) for r in records]
    assert got[:2] + got[3:] == [math.inf, -math.inf, 0.5]
    assert math.isnan(got[2])
    assert [r["bound"] for r in records] == [1e-300] * 4


def test_junit_survives_what_xml_does_not_allow():
    reason = "a\x00b\x1b[31mc\ud800 <&> \U0001f600"
    suite = ET.fromstring(as_junit(Report([made(reason)], {}), RUN)).find("testsuite")
    assert suite.find("testcase/failure").get("message") == "a�b�[31mc� <&> \U0001f600"


def test_junit_is_red_where_nothing_ran():
    suite = ET.fromstring(as_junit(Report([], {}, ["no checks ran: why"]), RUN)).find("testsuite")
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert suite.find("testcase/failure").get("message") == "no checks ran: why"


def test_the_page_shows_the_largest_ratio_even_where_it_is_no_number():
    records = [made("", PASSED, 1e-16, 1e-15), made("", PASSED, 5e-16, 1e-15), made("off", FAILED, math.nan, 1e-15)]
    assert "| x | 2 passed; 0.5 |" in markdown(Report(records[:2], {}), RUN)
    assert "| x | 2 passed, 1 failed; inf |" in markdown(Report(records, {}), RUN)


def test_a_line_that_repeats_is_one_shell_word_a_name():
    record = made(check="law_of $x; twice")
    assert shlex.split(record.repeat)[-2:] == ["--check", "law_of $x; twice"]


# ---------------------------------------------------------------------- how it ends


def test_a_learner_that_conforms_ends_with_0_and_names_a_check_that_is_slow():
    result = invoke("lms", "--backend", "numpy", "--check", "any_chunking", "--workers", 1)
    assert result.exit_code == 0
    assert "2 checks ran on cpu" in result.output
    assert "Conforming (selected checks only)." in result.output
    result = invoke("lms", "--check", "hundred_thousand_rows", "--dtype", "float32", "--timeout", "0.002")
    assert result.exit_code == 1
    assert "stopped after 0.02 s" in result.output  # ten times as long as a fast one


def test_nothing_that_ran_ends_with_1():
    result = invoke("kalman", "--check", "incomplete_batch_is_pending", "--dtype", "float64")
    assert result.exit_code == 1
    assert "problem: no checks ran" in result.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("olja",), "no method, backend or plugin is named 'olja'. Did you mean 'oja'?"),
        (("--backend", "nunpy"), "no backend 'nunpy'. Did you mean 'numpy'?"),
        (("lms", "--check", "any_chunk"), "no check 'any_chunk'. Did you mean 'any_chunking'?"),
        (("lms", "--dtype", "float16"), "dtype='float16': want one of float64, float32"),
        (("lms", "--seed", "-1"), "seed=-1: want an integer >= 0"),
        (("lms", "--seed", "x"), "'x' is not a valid integer"),
        (("lms", "--timeout", "0"), "timeout=0.0: want a number of seconds > 0"),
        (("lms", "--timeout", "nan"), "timeout=nan: want a number of seconds > 0"),
        (("lms", "--workers", "0"), "workers=0: want an integer >= 1"),
        (("lms", "--junit", "none/a.xml"), "none/a.xml: there is no folder none"),
        (("lms", "--json", "a", "--markdown", "./a"), "two of them name the same file"),
    ],
)
def test_wrong_usage_ends_with_2_and_writes_nothing(arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert said in result.output
    assert not list(tmp_path.iterdir())


def heard():
    """Ctrl-C reaches what is started, also where these tests run in the background of a shell, which ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGINT for a group of processes")
def test_ctrl_c_ends_with_130_and_leaves_the_files_and_no_process(here):
    folder, environment = here
    (folder / "log").unlink(missing_ok=True)
    (folder / "kept.json").write_text("old")
    words = "conform", "icl", "--backend", "fragile", "--check", "any_chunking", "--json", "kept.json"
    running = subprocess.Popen(
        [*COMMAND, *words],
        env=environment,
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=heard,
    )
    end = time.monotonic() + 60
    while not (folder / "log").exists() and time.monotonic() < end:
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert said == "Error: interrupted\n"
    assert (folder / "kept.json").read_text() == "old"
    for pid in (folder / "log").read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


# ---------------------------------------------------------------------- beside the kit in this process


@pytest.mark.slow
def test_the_same_report_as_in_this_process():
    asked = {"only": ["any_chunking", "law_lms_equals_nlms", "one_row"], "seed": 3}
    seen = []
    there = conform_isolated("lms", **asked, workers=2, progress=lambda *a: seen.append(a))
    assert there == conform("lms", **asked)
    assert [done for done, _, _ in seen] == list(range(1, len(there.results) + 1))
    assert {total for _, total, _ in seen} == {len(there.results)}
    assert sorted((r for _, _, r in seen), key=str) == sorted(there.results, key=str)


def test_refuses_a_plugin_of_this_process():
    ob.register(offering("own", {"lms": "a_module"}), "own")
    try:
        with pytest.raises(ValueError, match=r"plugin 'own' was registered in this process.*call conform\(\)"):
            conform_isolated("lms")
    finally:
        ob.unregister("own")


def test_the_command_and_the_function_stop_at_the_same_time():
    assert cli_conform.TIMEOUT == isolated.TIMEOUT
    assert "ten times as long" in " ".join(invoke("--help").output.split())
    assert isolated.SLOW_FACTOR == 10
