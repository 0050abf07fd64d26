"""`orfit-bench conform` on kernels that hang, crash or cannot be loaded, and interrupted by Ctrl-C."""

import os
import signal
import subprocess
import time

import pytest
from faults.reference_learner import KernelModule
from helpers.cases import offering
from helpers.conform import COMMAND, call, invoke

import orfit_bench as ob
from orfit_bench.conformance import conform, isolated
from orfit_bench.conformance.isolated import conform_isolated
from orfit_bench.conformance.result import EXPECTED, FAILED, PASSED
from orfit_bench.plugins.registry import registry

pytestmark = pytest.mark.integration


def test_kernel_that_hangs_in_its_first_rows_costs_one_time_limit(here):
    result = call(here, "conform", "icl", "--backend", "fragile", "--dtype", "float64", "--timeout", "1")
    assert result.returncode == 1
    assert result.stderr.count("(float64): failed: stopped after 1 s") == 1
    (line,) = (line for line in result.stdout.splitlines() if line.startswith("failed: "))
    assert line.endswith("checks of icl on fragile: stopped after 1 s")
    assert int(line.split()[1]) > 20


def test_exit_first_stops_at_the_first_failure_in_every_place():
    kernel = KernelModule(learn=twice)
    ob.register(offering("own", {"greedy": kernel}), "own")
    try:
        report = conform("greedy", backends=["own"], dtypes=["float64"], exit_first=True)
    finally:
        ob.unregister("own")
    assert [r.status for r in report.results].count(FAILED) == 1
    assert report.results[-1].status == FAILED
    (problem,) = report.problems
    assert problem.startswith(f"stopped at the first failure: {len(report.results)} of ")


def test_command_stops_at_the_first_failure(here):
    result = call(here, "conform", "nlms", "--backend", "fragile", "--check", "one_row", "-x", "--workers", "1")
    assert result.returncode == 1
    assert "problem: stopped at the first failure: 1 of 2 checks were run" in result.stdout


def twice(s, X, Y, p, out):
    """A kernel that returns twice the number of rows, starting with the fourth row."""
    n = registry().kernel("numpy", "greedy").learn(s, X, Y, p, out)
    return 2 * n if p.t > 3 else n


def found(report, method, check="any_chunking"):
    (record,) = (r for r in report["results"] if (r["method"], r["check"]) == (method, check))
    return record["status"], record["reason"]


def test_crashing_kernel_fails_only_its_own_checks(ran, report):
    assert ran.returncode == 1
    status, reason = found(report, "lms")
    assert status == PASSED
    assert reason.startswith("3 of 5 variants ran; skipped: model mlp(12; tanh), 2 outputs and 1 more: lacks models")
    for check in ("any_chunking", "row_by_row"):
        aborted = f"the worker process was killed by signal {int(signal.SIGABRT)} (Aborted)"
        assert found(report, "nlms", check) == (FAILED, aborted)
        assert found(report, "apa", check) == (FAILED, "the worker process ended with exit code 3")
        assert found(report, "icl", check) == (FAILED, "stopped after 3 s")
        assert found(report, "rls", check) == (FAILED, "raised KeyboardInterrupt")


def test_expected_failure_passes_and_unexpected_success_fails(report):
    status, reason = found(report, "ogd")
    assert status == EXPECTED
    assert reason.startswith("it crashes, we know [why|how] (the worker process was killed by signal")
    status, reason = found(report, "lms", "row_by_row")
    assert status == FAILED
    assert reason.startswith("expected to fail (it is said to be wrong), but it passed")


def test_kernel_that_cannot_be_loaded_is_reported(ran, report):
    assert "sgd on fragile cannot be checked: the worker process ended with exit code 5" in report["problems"]
    assert "problem: sgd on fragile cannot be checked" in ran.stdout
    assert "sgd" not in {r["method"] for r in report["results"]}


def test_results_are_in_the_order_of_the_plan(report):
    who = [(r["method"], r["check"]) for r in report["results"]]
    assert who == [(m, c) for m in ("apa", "icl", "lms", "nlms", "ogd", "rls") for c in ("any_chunking", "row_by_row")]


def heard():
    """Ctrl-C reaches child processes, even if these tests run in the background of a shell, which ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGINT for a group of processes")
def test_interrupt_exits_with_130_and_leaves_no_process(here):
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
    _, stated = running.communicate(timeout=60)
    assert running.returncode == 130
    assert stated == "Error: interrupted\n"
    assert (folder / "kept.json").read_text() == "old"
    for pid in (folder / "log").read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


@pytest.mark.slow
def test_isolated_run_reports_the_same_as_one_in_process():
    asked = {"only": ["any_chunking", "law_lms_equals_nlms", "one_row"], "seed": 3}
    seen = []
    there = conform_isolated("lms", **asked, workers=2, progress=lambda *a: seen.append(a))
    assert there == conform("lms", **asked)
    assert [done for done, _, _ in seen] == list(range(1, len(there.results) + 1))
    assert {total for _, total, _ in seen} == {len(there.results)}
    assert sorted((r for _, _, r in seen), key=str) == sorted(there.results, key=str)


def test_plugin_registered_in_process_is_refused():
    ob.register(offering("own", {"lms": "a_module"}), "own")
    try:
        with pytest.raises(ValueError, match=r"backend 'own' was registered in this process.*call conform\(\)"):
            conform_isolated("lms")
    finally:
        ob.unregister("own")


def test_help_says_how_long_slow_checks_may_take():
    assert "ten times as long" in " ".join(invoke("--help").output.split())
    assert isolated.SLOW_FACTOR == 10


def test_kernel_that_ends_its_process_while_it_is_loaded_is_the_only_problem(here):
    result = call(here, "conform", "sgd", "--backend", "fragile")
    assert result.returncode == 1
    problems = [line for line in result.stdout.splitlines() if line.startswith("problem: ")]
    assert problems == ["problem: sgd on fragile cannot be checked: the worker process ended with exit code 5"]
