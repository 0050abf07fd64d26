"""Cells on a Dask cluster: the same results as without, each cell once, whichever process is killed."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from helpers.clusters import open_cluster
from helpers.commands import COMMAND, call, invoke, wait_for, words
from helpers.suites import suite

from orfit_bench.bench import Suite, load, run

pytest.importorskip("distributed")
cluster = pytest.mark.skipif(sys.platform != "linux", reason="workers need fork")
SMALL = Suite(methods=["lms", "rls"], backends=["numpy"], streams=["regression"], rows=[40], seeds=list(range(5)))
MANY = Suite(methods=["lms", "rls"], backends=["numpy"], streams=["regression"], rows=[40], seeds=list(range(500)))


def assert_same_numbers(one: Any, other: Any) -> None:
    """The same cells in the same order, with the same errors to the bit."""
    for name in ("key", "status", "test_error", "test_error_trajectory"):
        np.testing.assert_array_equal(one[name].values, other[name].values, name)


@cluster
@pytest.mark.integration
class TestCluster:
    def test_same_results_as_on_this_machine(self, environment, tmp_path):
        with open_cluster(tmp_path, environment) as opened, opened.client() as client:
            found = run(SMALL, tmp_path / "r.nc", client=client, progress=None)
        here = run(SMALL, timed=False, progress=None)
        assert_same_numbers(found, here)
        assert load(tmp_path / "r.nc").identical(found)
        assert found.attrs["machine"] == here.attrs["machine"]
        assert set(found["notes"].values) == {"not timed"}
        assert np.isnan(found["throughput"].values).all()
        assert not list(tmp_path.glob("r.nc.*"))

    def test_cells_are_timed_on_workers_that_offer_it(self, environment, tmp_path):
        with open_cluster(tmp_path, environment) as opened:
            opened.start_worker("--resources", "timing=1", "--name", "alone")
            arguments = words("run --method lms --backend numpy --stream regression --executor dask --timed --address")
            done = call(*arguments, opened.address, environment=environment, folder=tmp_path)
            assert done.returncode == 0, done.stderr
            assert (load(tmp_path / "results.nc")["throughput"].values > 0).all()
            with opened.client() as client:
                ran = client.run(eval, "'orfit_bench.jobs.on_dask' in __import__('sys').modules")
                names = {address: w["name"] for address, w in client.scheduler_info(n_workers=-1)["workers"].items()}
        assert {names[address] for address, used in ran.items() if used} == {"alone"}

    def test_a_faulty_cell_costs_its_limit_and_disturbs_no_other(self, environment, tmp_path):
        with open_cluster(tmp_path, environment) as opened:
            done = call(
                *words("run --backend faulty --backend numpy --stream regression --timeout 3 --executor dask"),
                *(a for m in ("apa", "icl", "one_step_sgd", "rls", "lms") for a in ("--method", m)),
                *("--address", opened.address),
                environment=environment,
                folder=tmp_path,
            )
        assert done.returncode == 1, done.stderr
        results = load(tmp_path / "results.nc")
        ended = {
            (str(m), str(b)): str(r)
            for m, b, r in zip(*(results[k].values for k in ("method", "backend", "reason")), strict=True)
        }
        assert {method: reason for (method, backend), reason in ended.items() if backend == "faulty"} == {
            "apa": "the worker process ended with exit code 3",
            "icl": "stopped after 3 s",
            "one_step_sgd": "the worker process was killed by signal 6 (Aborted)",
            "rls": "KeyboardInterrupt",
            "lms": "",
        }
        assert {reason for (_, backend), reason in ended.items() if backend == "numpy"} == {""}

    def test_the_loss_of_the_scheduler_is_named_and_the_run_resumed(self, environment, tmp_path):
        slow = words("run --method lms --method rls --backend numpy --stream slow --seed 0 --seed 1 --seed 2")
        with open_cluster(tmp_path, environment) as opened:
            command = [*COMMAND, *slow, "--executor", "dask", "--address", opened.address]
            with subprocess.Popen(command, env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
                wait_for(lambda: len(list(tmp_path.glob("results.nc.journal/*.json"))) >= 2)
                opened.scheduler.kill()
                _, stated = process.communicate(timeout=60)
            assert process.returncode == 2
            assert "the connection to the cluster was lost; finished cells are stored" in stated
            opened.start_scheduler()
            opened.start_worker()
            done = call(
                *slow, "--executor", "dask", "--address", opened.address, environment=environment, folder=tmp_path
            )
        assert done.returncode == 0, done.stderr
        assert "cells are already finished" in done.stderr
        assert set(load(tmp_path / "results.nc")["status"].values) == {"ok"}

    def test_a_killed_client_leaves_its_finished_cells(self, environment, tmp_path):
        slow = words("run --method lms --method rls --backend numpy --stream slow --seed 0 --seed 1 --seed 2")
        with open_cluster(tmp_path, environment) as opened:
            arguments = [*slow, "--executor", "dask", "--address", opened.address]
            with subprocess.Popen([*COMMAND, *arguments], env=environment, cwd=tmp_path) as process:
                wait_for(lambda: len(list(tmp_path.glob("results.nc.journal/*.json"))) >= 2)
                process.kill()
            kept = len(list(tmp_path.glob("results.nc.journal/*.json")))
            done = call(*arguments, environment=environment, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert f"resuming: {kept} of 6 cells" in done.stderr
        assert done.stderr.count("\n[") == 6 - kept
        assert set(load(tmp_path / "results.nc")["status"].values) == {"ok"}

    @pytest.mark.slow
    def test_a_worker_is_killed_every_second(self, environment, tmp_path):
        finished: list[str] = []

        def progress(done: int, total: int, record: dict[str, Any] | None) -> None:
            finished.extend([record["key"]] if record else [])

        with (
            open_cluster(tmp_path, environment) as opened,
            opened.client() as client,
            opened.worker_killed_every_second() as killed,
        ):
            found = run(MANY, client=client, progress=progress)
        assert len(killed) > 10
        assert sorted(finished) == sorted(found["key"].values), "each cell is recorded once"
        assert_same_numbers(found, run(MANY, jobs=2, progress=None))


@pytest.mark.parametrize(
    ("options", "stated"),
    [
        ("--executor dask", "--executor dask: add --address"),
        ("--executor dask --address tcp://127.0.0.1:1 --jobs 4", "--jobs 4: the workers of the cluster run the cells"),
        ("--executor dask --address 127.0.0.1:18786x", "127.0.0.1:18786x: want the URL of a scheduler"),
        ("--address tcp://127.0.0.1:1", "add --executor dask"),
        ("--jobs 2 --timed", "jobs=2: cells that run at the same time cannot be timed"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, stated, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reported = invoke("run", "--method", "lms", *options.split())
    assert reported.exit_code == 2
    assert stated in reported.output


def test_what_is_no_cluster_is_refused():
    with pytest.raises(TypeError, match=r"client: got str, want a distributed.Client"):
        run(suite("lms"), client="tcp://127.0.0.1:8786")
    with pytest.raises(TypeError, match="asynchronous client, want one whose calls wait"):
        run(suite("lms"), client=type("Client", (), {"submit": None, "asynchronous": True})())
    with pytest.raises(ValueError, match="leave jobs and isolate out"):
        run(suite("lms"), client=type("Client", (), {"submit": None})(), isolate=False)
