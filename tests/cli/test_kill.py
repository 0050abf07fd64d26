"""Interrupted and killed runs."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from helpers.commands import COMMAND, TIMES, call, wait_for, words

from orfit_bench.bench import load

pytestmark = pytest.mark.integration


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
class TestKill:
    RUN = words("run --method lms --method rls --backend numpy --stream slow --seed 0 --seed 1 --seed 2")

    def start(self, arguments, environment, folder):
        return subprocess.Popen(
            [*COMMAND, *arguments], env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def test_resumes_after_kill(self, environment, tmp_path):
        complete = call(*self.RUN, "--output", "whole.nc", environment=environment, folder=tmp_path)
        assert complete.returncode == 0, complete.stderr
        (tmp_path / "log").unlink()

        journal = tmp_path / "cut.nc.journal"
        with self.start([*self.RUN, "--output", "cut.nc"], environment, tmp_path) as process:
            wait_for(lambda: len(list(journal.glob("*.json"))) >= 2)
            process.send_signal(signal.SIGKILL)
        kept = [json.loads(path.read_text())["record"] for path in journal.glob("*.json")]
        assert 2 <= len(kept) < 6
        assert not (tmp_path / "cut.nc").exists()

        resumed = call(*self.RUN, "--output", "cut.nc", environment=environment, folder=tmp_path)
        assert resumed.returncode == 0, resumed.stderr
        assert resumed.stderr.startswith(f"resuming: {len(kept)} of 6 cells are already finished\n")
        assert resumed.stderr.count("\n[") == 6 - len(kept)
        assert not journal.exists()

        loads = (tmp_path / "log").read_text().split()
        assert 6 <= len(loads) <= 7, "only the cell that was cut is learned again"
        first, second = load(tmp_path / "whole.nc"), load(tmp_path / "cut.nc")
        for record in kept:
            (at,) = np.flatnonzero(second["key"].values == record["key"])
            assert second["seconds"].values[at] == record["seconds"]
        for results in (first, second):
            results.attrs.pop("date")
        xr.testing.assert_identical(first.drop_vars(TIMES), second.drop_vars(TIMES))

    @pytest.mark.parametrize(
        ("number", "message"),
        [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "ended by SIGTERM")],
        ids=["INT", "TERM"],
    )
    def test_an_ended_run_prints_how_to_resume(self, number, message, environment, tmp_path):
        journal = tmp_path / "cut.nc.journal"
        with (tmp_path / "errors").open("w") as errors:
            process = subprocess.Popen(
                [*COMMAND, *self.RUN, "--output", "cut.nc"], env=environment, cwd=tmp_path, stderr=errors
            )
            wait_for(lambda: list(journal.glob("*.json")))
            process.send_signal(number)
            assert process.wait(20) == 128 + number
        printed = (tmp_path / "errors").read_text().splitlines()
        assert printed[-1] == f"Error: {message}; run the same command again to resume after the last finished cell"
        assert list(journal.glob("*.json"))

    @pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
    def test_a_hanging_cell_dies_with_its_run(self, environment, tmp_path):
        log = tmp_path / "log"
        arguments = words("run --backend faulty --method icl --stream regression")
        with self.start(arguments, environment, tmp_path) as process:
            wait_for(lambda: log.exists() and log.read_text().endswith("\n"))
            process.send_signal(signal.SIGKILL)
        stat = Path(f"/proc/{log.read_text().strip()}/stat")
        wait_for(lambda: not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z", seconds=10)
