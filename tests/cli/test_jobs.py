"""Runs in which several cells run at the same time."""

import signal
import subprocess
import time

import numpy as np
import pytest
from helpers.commands import COMMAND, call, wait_for, words

from orfit_bench import bench
from orfit_bench.bench import comparison, load, run
from orfit_bench.jobs.forking import CAN_FORK

pytestmark = [pytest.mark.integration, pytest.mark.skipif(not CAN_FORK, reason="processes cannot be forked")]
TIMED = ("throughput", "latency_p50", "seconds", "seconds_compile")


def test_same_errors_and_no_times():
    suite = bench.Suite(["lms", "rls"], ["numpy"], ["regression", "drift"], rows=[60])
    one, two = run(suite, progress=None), run(suite, jobs=2, progress=None)
    for name in ("test_error_trajectory", "deviation", "state_bytes", "forgetting"):
        np.testing.assert_array_equal(one[name], two[name])
    assert (one["key"].values == two["key"].values).all()
    assert all(np.isnan(two[name]).all() for name in TIMED)
    assert not any(np.isnan(one[name]).any() for name in TIMED)
    assert {change.metric for change in comparison.changes(one, two)} <= {"host_memory"}, "times are not compared"


@pytest.mark.parametrize("jobs", [0, -1])
def test_a_wrong_number_is_refused(jobs):
    with pytest.raises(ValueError, match="want an integer >= 1"):
        run(bench.Suite(["lms"], ["numpy"], ["regression"]), jobs=jobs)


def test_needs_processes():
    with pytest.raises(ValueError, match="only processes of their own run at the same time"):
        run(bench.Suite(["lms"], ["numpy"], ["regression"]), jobs=2, isolate=False)


class TestFaults:
    """Cells that crash or hang, and runs that are killed."""

    SLOW = words("run --method lms --method rls --backend numpy --stream slow --seed 0 --seed 1 --seed 2 --jobs 2")

    def start(self, environment, folder, output):
        return subprocess.Popen(
            [*COMMAND, *self.SLOW, "--output", output],
            env=environment,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    @pytest.mark.slow
    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
    def test_an_ended_run_resumes(self, number, environment, tmp_path):
        journal = tmp_path / "r.nc.journal"
        with self.start(environment, tmp_path, "r.nc") as process:
            wait_for(lambda: len(list(journal.glob("*.json"))) >= 2)
            begin = time.monotonic()
            process.send_signal(number)
            process.wait(timeout=20)
            assert time.monotonic() - begin < 5
        kept = len(list(journal.glob("*.json")))
        assert 2 <= kept < 6
        resumed = call(*self.SLOW, "--output", "r.nc", environment=environment, folder=tmp_path)
        assert resumed.returncode == 0, resumed.stderr
        assert resumed.stderr.startswith(f"resuming: {kept} of 6 cells are already finished\n")
        assert load(tmp_path / "r.nc").sizes["cell"] == 6
        assert not journal.exists()

    @pytest.mark.slow
    def test_a_hanging_and_a_crashing_cell_disturb_no_other(self, environment, tmp_path):
        arguments = words("run --backend faulty --backend numpy --stream regression --timeout 4 --jobs 2")
        arguments += words("--method lms --method one_step_sgd --method icl")
        done = call(*arguments, environment=environment, folder=tmp_path)
        found = load(tmp_path / "results.nc")
        status = dict(
            zip(zip(found["method"].values, found["backend"].values, strict=True), found["status"].values, strict=True)
        )
        assert {status[method, "numpy"] for method in ("lms", "one_step_sgd", "icl")} == {"ok"}
        assert status["icl", "faulty"] == "timeout", done.stdout
        assert status["one_step_sgd", "faulty"] == "crashed"
        assert status["lms", "faulty"] == "ok"
