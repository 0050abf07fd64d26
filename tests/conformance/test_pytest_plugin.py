"""The kit in pytest: outcomes, totals that cannot pass silently, and the contents of JUnit and JSON."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.conformance import CheckResult, conform, laws, plan
from orfit_bench.conformance.export import RunInfo, as_json
from orfit_bench.learners.arguments import REAL_DTYPES

pytestmark = pytest.mark.integration

ECHO = """
import orfit_bench as ob
from helpers.cases import offering
from orfit_bench.conformance import suite
from orfit_bench_numpy import lms

class Kernel:
    EXPECTED_FAILURES = {expected}
    update = staticmethod(lms.update)

    @staticmethod
    def learn(s, X, Y, p, out):
        return lms.learn(s, X, {Y}, p, out)

ob.register(offering("echo", {{"lms": Kernel}}), "echo")
test_conforms = suite("echo")
"""
ABSENT = """
import orfit_bench as ob
from orfit_bench.spec import Backend

class Plugin:
    SPEC_VERSION = (1, 0)

    @ob.hookimpl
    def backends(self):
        return [Backend("nowhere", "", namespace=dict, probe=lambda: "no such device")]

    @ob.hookimpl
    def kernels(self):
        return {("nowhere", "lms"): "orfit_bench_numpy.lms"}

ob.register(Plugin(), "echo")
from orfit_bench.conformance import suite
test_conforms = suite("nowhere")
"""
ID = "test_echo.py::test_conforms[echo-lms-{}-{}]".format
TWO = "agrees_with_reference", "any_chunking"


@pytest.fixture(scope="module")
def imported():
    """Import all modules of the inner runs: pytester removes imported modules, and NumPy cannot be imported twice."""
    as_json(conform("lms", only=["any_chunking"]), RunInfo.now("", 0.0, {}))


@pytest.fixture
def run(pytester, monkeypatch, imported):
    """Run pytest in this process on a test module, with two checks of two dtypes and no laws."""
    few = [check for check in plan.CHECKS if check.name in TWO]
    monkeypatch.setattr(plan, "CHECKS", few)
    monkeypatch.setattr(laws, "cases", lambda method=None: [])

    def running(text, *arguments, **files):
        pytester.makepyfile(test_echo=text, **files)
        return pytester.runpytest_inprocess("-p", "orfit_bench_pytest", "-p", "no:cacheprovider", *arguments)

    yield running
    ob.unregister("echo")


def echo(Y="Y", expected=None):
    return ECHO.format(Y=Y, expected=expected or {})


def test_a_suite_of_three_lines_is_one_test_a_check_in_the_order_of_the_plan(run):
    result = run(echo(), "-v")
    names = [(dtype, check) for dtype in REAL_DTYPES for check in TWO]
    result.stdout.fnmatch_lines([f"{ID(*pair)} PASSED*".replace("[", "[[]") for pair in names], consecutive=True)
    result.stdout.fnmatch_lines(["4 passed, 0 failed, 0 unproven, 0 expected failure, 0 skipped (devices: cpu)"])
    result.stdout.no_fnmatch_line("*planned checks were selected")
    assert result.ret == 0


def test_failure_shows_deviation_and_command_without_a_traceback(run):
    result = run(echo("Y + 1e-3"), "-k", "float64")
    result.stdout.fnmatch_lines(
        [
            "agrees_with_reference of lms on echo (float64): with the default settings: off by *, "
            "allowed * (after row 1: w)",
            f"repeat: pytest '{ID('float64', 'agrees_with_reference')}' --orfit-seed 0".replace("[", "[[]"),
            "*conformance (orfit_bench)*",
            "2 of 4 planned checks were selected",
            "1 passed, 1 failed, 0 unproven, 0 expected failure, 0 skipped (devices: cpu)",
            "largest deviation/bound: * / *, agrees_with_reference of lms on echo (float64)",
        ]
    )
    result.stdout.no_fnmatch_line("*suites.py*")
    assert result.ret == 1


def test_failures_of_installed_plugins_show_the_command(run, monkeypatch):
    monkeypatch.setattr("orfit_bench.conformance.suites.IN_PROCESS", "somewhere else")
    again = "repeat: orfit-bench conform lms --backend echo --dtype float64 --seed 0 --check agrees_with_reference"
    run(echo("Y + 1e-3")).stdout.fnmatch_lines([again])


def test_an_expected_failure_is_no_failure(run):
    result = run(echo("Y + 1e-3", {"agrees_with_reference": "a known offset"}), "-rx")
    result.assert_outcomes(passed=2, xfailed=2)
    result.stdout.fnmatch_lines(
        ["2 passed, 0 failed, 0 unproven, 2 expected*", "XFAIL *a known offset (with the default settings: off by*"]
    )
    assert result.ret == 0


def test_an_expected_failure_fails_where_the_user_runs_them_as_failures(run):
    run(echo("Y + 1e-3", {"agrees_with_reference": "a known offset"}), "--runxfail").assert_outcomes(passed=2, failed=2)


def test_an_expected_failure_that_passes_fails(run):
    result = run(echo(expected={"any_chunking float32": "old"}))
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*expected to fail (old), but it passed: remove it from EXPECTED_FAILURES"])


def test_an_expectation_that_names_no_check_fails_the_session(run):
    result = run(echo(expected={"any_chunk": "old"}))
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(
        ["problem: lms on echo expects 'any_chunk' to fail, which is not a check. Did you mean 'any_chunking'?"]
    )
    assert result.ret == 1


def test_a_backend_that_is_not_here_fails_the_session(run):
    result = run(ABSENT, "-rs")
    result.assert_outcomes(skipped=4)
    result.stdout.fnmatch_lines(["0 passed, 0 failed, 0 unproven, 0 expected failure, 4 skipped (devices: none)"])
    result.stdout.fnmatch_lines(["problem: no checks ran: no such device"])
    assert result.ret == 1


def test_a_check_that_was_chosen_and_did_not_run_fails_the_session(run):
    skips = """
        import pytest

        @pytest.fixture(autouse=True)
        def skips(request):
            if request.node.name.endswith({!r}):
                pytest.skip()
    """
    result = run(echo(), conftest=skips.format("float32-any_chunking]"))
    result.stdout.fnmatch_lines(["problem: any_chunking of lms on echo (float32) did not run: the run ended before it"])
    assert result.ret == 1


def test_a_suite_of_which_nothing_ran_fails_the_session(run):
    conftest = "import pytest\n@pytest.fixture(autouse=True)\ndef skips():\n    pytest.skip()\n"
    result = run(echo(), conftest=conftest)
    result.stdout.fnmatch_lines(["problem: no checks ran: no planned check was run"])
    assert result.ret == 1


def test_deselected_checks_do_not_fail_the_session(run):
    others = "def test_other():\n    pass\n"
    for choice in (["-k", "float32 or other"], ["--deselect", ID("float64", "any_chunking")], ["-k", "other"]):
        result = run(echo(), "test_echo.py", "test_other.py", *choice, test_other=others)
        ob.unregister("echo")
        assert result.ret == 0
        result.stdout.no_fnmatch_line("problem*")
    result = run(echo(), ID("float64", "any_chunking"))
    result.stdout.fnmatch_lines(["1 of 4 planned checks were selected"])
    assert result.ret == 0


def test_a_name_that_nothing_has_is_an_error(run):
    wrong = {
        'suite("nosuch")': "orfit_bench: no method, backend, plugin, stream, metric or experiment is named 'nosuch'*",
        'suite("echo", backends=["nosuch"])': "orfit_bench: no backend 'nosuch'*",
        'suite("rls", backends=["echo"])': "orfit_bench: no checks apply to rls on echo",
    }
    for line, stated in wrong.items():
        result = run(echo() + f"\ntest_conforms = {line}\n")
        ob.unregister("echo")
        result.stdout.fnmatch_lines([stated])
        assert result.ret == pytest.ExitCode.INTERRUPTED


def test_junit_and_json_contain_the_complete_record(run, pytester):
    run(echo("Y + 1e-3"), "--junitxml=junit.xml", "--orfit-json=records.json", "--orfit-seed=7")
    case = next(c for c in ET.parse(pytester.path / "junit.xml").iter("testcase") if "float32-any" in c.get("name"))
    reported = {p.get("name"): p.get("value") for p in case.iter("property")}
    written = json.loads((pytester.path / "records.json").read_text())
    record = next(r for r in written["results"] if r["check"] == "any_chunking" and r["dtype"] == "float32")
    assert reported.items() <= {name: str(value) for name, value in record.items()}.items()
    assert (reported["device"], reported["seed"], reported["status"]) == ("cpu", "7", "passed")
    assert written["counts"] == {"passed": 2, "failed": 2, "unproven": 0, "expected failure": 0, "skipped": 0}


def test_a_result_survives_as_plain_values():
    one = CheckResult("c", "m", "b", "float64", 0, "cpu", "passed", "", np.float32(0.5), np.float64(1.0))
    values = one.to_dict()
    assert {type(value) for value in values.values()} == {str, int, float}
    assert CheckResult.from_dict(values) == one
    unmeasured = replace(one, deviation=None)
    assert CheckResult.from_dict(unmeasured.to_dict()) == unmeasured
    assert CheckResult.from_dict({name: values[name] for name in ("check", "repeat")}) is None


def test_json_that_cannot_be_written_is_refused_before_the_work(run):
    result = run(echo(), "--orfit-json=nowhere/records.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --orfit-json: nowhere/records.json: there is no folder nowhere*"])


@pytest.mark.parametrize("text", ["", "def test_other():\n    pass\n", ECHO.format(expected={}, Y="Y")])
def test_names_that_no_suite_takes_fail_the_session(run, text):
    result = run(text, "--orfit=lms", "-k", "test_other or rows_are_counted")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*problem: --orfit lms: every suite names what it checks: *"])


def test_a_backend_that_is_required_must_run(run):
    result = run(
        ABSENT + 'test_more = suite("lms", backends=["numpy"])\n', "--orfit-require=nowhere", "-k", "any_chunking"
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*problem: --orfit-require nowhere: no check ran on it: *no such device*"])


@pytest.mark.parametrize("text", ["", "def test_other():\n    pass\n"])
def test_a_backend_that_is_required_must_be_in_the_plan(run, text):
    result = run(text, "--orfit-require=numpy")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*--orfit-require numpy: no check ran on it: none was selected"])


def test_a_backend_that_is_required_and_runs(run):
    run(echo(), "--orfit-require=echo", "-k", "any_chunking").assert_outcomes(passed=2, deselected=2)


def test_json_of_no_checks_fails(run, pytester):
    result = run("def test_other():\n    pass\n", "--orfit-json=records.json")
    assert result.ret == 1
    assert not json.loads((pytester.path / "records.json").read_text())["passed"]


def test_slow_checks_run_on_request(run, monkeypatch):
    slow = next(check for check in plan.CHECKS if check.name == "any_chunking")
    monkeypatch.setattr("orfit_bench.conformance.check.CHECKS", [slow])
    object.__setattr__(slow, "slow", True)
    try:
        run(echo()).assert_outcomes(passed=2)
        ob.unregister("echo")
        run(echo(), "--orfit-slow", "-m", "orfit_slow").assert_outcomes(passed=2, deselected=2)
    finally:
        object.__setattr__(slow, "slow", False)


def test_packaged_suite_runs_the_named_checks(pytester):
    result = pytester.runpytest_subprocess(
        *("-p", "orfit_bench_pytest", "--pyargs", "orfit_bench.conformance", "--orfit", "lms", "-k", "any_chunking")
    )
    items = plan.plan_checks(["lms"])
    chosen = [ob.backends()[item.backend].available for item in items if item.check == "any_chunking"]
    assert sum(chosen) >= 2
    here, away = sum(chosen), chosen.count(False)
    result.assert_outcomes(passed=here, skipped=away, deselected=len(items) - len(chosen))


@pytest.mark.slow
def test_workers_of_xdist_are_added_up_by_a_process_that_knows_no_plugin_of_theirs(pytester):
    pytest.importorskip("xdist")
    pytester.makeconftest(
        "from orfit_bench.conformance import laws, plan\n"
        f"plan.CHECKS[:] = [check for check in plan.CHECKS if check.name in {TWO}]\n"
        "laws.cases = lambda method=None: []\n"
    )
    pytester.makepyfile(test_echo=echo(expected={"any_chunk": "old"}))
    options = "-n", "2", "-o", f"pythonpath={Path(__file__).parents[1]}", "--orfit-json", "x.json"
    result = pytester.runpytest_subprocess("-p", "orfit_bench_pytest", *options)
    result.assert_outcomes(passed=4)
    written = json.loads((pytester.path / "x.json").read_text())
    stated = "lms on echo expects 'any_chunk' to fail, which is not a check. Did you mean 'any_chunking'?"
    assert written["problems"] == [stated]
    assert (result.ret, written["passed"], written["partial"]) == (1, False, False)
    ran = [(record["dtype"], record["check"]) for record in written["results"]]
    assert ran == [(dtype, check) for dtype in REAL_DTYPES for check in TWO]


def test_every_other_run_of_pytest_pays_for_one_small_module():
    code = "import sys, orfit_bench_pytest; sys.exit('orfit_bench' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.call([sys.executable, "-c", code]) == 0
