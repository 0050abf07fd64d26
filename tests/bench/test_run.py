"""Running suites: executors, files and tables."""

import json
import os
import re
import signal
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from helpers.commands import wait_for
from helpers.suites import cell, hook, suite

from orfit_bench.bench import Protocol, Suite, load, run
from orfit_bench.bench.executors import SubprocessExecutor
from orfit_bench.bench.isolation import Limits
from orfit_bench.errors import UnavailableError
from orfit_bench.jobs import system
from orfit_bench.jobs.files import replace
from orfit_bench.jobs.forking import CAN_FORK
from orfit_bench.plugins.registry import Table, registry
from orfit_bench.spec import Backend, Data, Stream


def children() -> set[int]:
    """The processes that this one has started and that still exist."""
    lists = (file.read_text() for file in Path("/proc/self/task").glob("*/children"))
    return {int(number) for text in lists for number in text.split()}


class TestRun:
    def test_file_and_table_are_one(self, tmp_path):
        path = tmp_path / "r.nc"
        created = run(suite("lms", "rls", "greedy", streams=["regression", "drift"]), path, isolate=False)
        xr.testing.assert_identical(load(path), created)
        assert [p.name for p in tmp_path.iterdir()] == ["r.nc"]
        assert dict(created.sizes) == {"cell": 6, "point": 25, "task": 10, "task_after": 10}
        assert created["method"].values.tolist() == ["lms", "rls", "greedy"] * 2
        assert created["throughput"].attrs["units"] == "1/s"
        assert np.isnan(created["deviation"].values[2])
        assert np.isnan(created["task_error"].values[0]).all()
        assert json.loads(created.attrs["versions"])["numpy"] == np.__version__
        assert json.loads(created.attrs["machine"])["cores"] == os.cpu_count()
        assert json.loads(created.attrs["suite"])["rows"] == [60]
        assert set(json.loads(created.attrs["commit"])) == {"id", "dirty", "changes", "plugins"}

    def test_load_refuses_other_files(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            load(tmp_path / "none.nc")
        (tmp_path / "text.nc").write_text("not netCDF")
        with pytest.raises(ValueError, match="not a netCDF file"):
            load(tmp_path / "text.nc")
        old = xr.Dataset({"a": 1}, attrs={"format": "orfit_bench results 1"})
        old.to_netcdf(tmp_path / "old.nc", engine="h5netcdf")
        stated = r"old\.nc: written in the format .orfit_bench results 1., but this version reads"
        with pytest.raises(ValueError, match=stated):
            load(tmp_path / "old.nc")
        xr.Dataset({"a": 1}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
        with pytest.raises(ValueError, match="not a file of orfit_bench results"):
            load(tmp_path / "other.nc")

    def test_absence_is_reported(self, plugin):
        def broken():
            raise ImportError("no driver")

        gone = Backend("gone", "", namespace=lambda: np, probe=lambda: "no device")
        worse = Backend("worse", "", namespace=lambda: np, probe=broken)

        def no_file():
            raise UnavailableError("no file")

        bare = Stream("bare", "", no_file)
        plugin(backends=hook("backends", (gone, worse)), streams=hook("streams", (bare,)))
        created = suite("lms", backends=["numpy", "gone", "worse"], streams=["regression", "bare"], rows=[])
        done = run(created, isolate=False)
        assert done["status"].values.tolist() == ["ok", *["absent"] * 5]
        assert done["reason"].values.tolist() == [
            "",
            "no device",
            "its probe failed: ImportError: no driver",
            "no file",
            "no device",
            "its probe failed: ImportError: no driver",
        ]
        assert np.isnan(done["seconds"].values[1:]).all()
        assert np.isnan(done["throughput"].values[1:]).all()

    def test_a_stream_is_absent_where_its_probe_says_so(self, plugin):
        def missing():
            raise FileNotFoundError("my.csv")

        def broken():
            raise SystemExit("no network")

        gone = Stream("gone", "", missing, probe=lambda: "download my.csv first")
        plugin(streams=hook("streams", (gone, Stream("worse", "", missing, probe=broken))))
        done = run(suite("lms", streams=["gone", "worse"], rows=[]), isolate=False)
        assert done["status"].values.tolist() == ["absent", "absent"]
        assert done["reason"].values.tolist() == ["download my.csv first", "its probe failed: SystemExit: no network"]

    def test_of_backends_that_nobody_named_those_take_part_that_can(self, plugin):
        gone = Backend("gone", "", namespace=lambda: np, probe=lambda: "no device")
        plugin(backends=hook("backends", (gone,)))
        assert {cell.backend for cell, _ in suite("lms", backends=[]).cells()} == {
            b for b in registry().backends if not registry().absence(b, "lms")
        }
        named = [cell.backend for cell, _ in suite("lms", backends=["gone", "numpy"]).cells()]
        assert named == ["gone", "numpy"]

    def test_a_method_without_an_average_is_absent_from_rounds(self):
        done = run(suite("lms", "rls", protocol=Protocol(learners=2, round=10)), isolate=False)
        assert done["status"].values.tolist() == ["ok", "absent"]
        assert done["reason"].values[1] == "rls: an average of its states is not defined"

    def test_progress_counts_cells(self):
        seen = []
        run(suite("lms", "rls"), isolate=False, progress=lambda *a: seen.append((*a[:2], a[2] and a[2]["status"])))
        assert seen == [(0, 2, None), (1, 2, "ok"), (2, 2, "ok")]

    def test_a_worker_cannot_see_this_process(self, plugin):
        plugin(streams=hook("streams", (Stream("own", "", lambda: Data(np.eye(2), np.ones(2))),)))
        with pytest.raises(ValueError, match=r"stream 'own' was registered in this process.* pass isolate=False"):
            run(suite("lms", streams=["own"], rows=[]))
        assert run(suite("lms"))["status"].values == ["ok"]  # does not depend on this process

    def test_a_worker_gives_the_same_numbers(self):
        before = dict(os.environ)
        here, there = run(suite("rls"), isolate=False), run(suite("rls"))
        assert dict(os.environ) == before
        assert (here["test_error_trajectory"].values == there["test_error_trajectory"].values).all()
        assert set(json.loads(there.attrs["machine"])["threads"].values()) == {"1"}

    @pytest.mark.skipif(not CAN_FORK, reason="there is no server")
    def test_a_worker_that_dies_between_cells_is_replaced(self):
        before = children()
        with SubprocessExecutor() as worker:
            assert worker.run(cell(), Limits(60))["status"] == "ok"
            (server,) = children() - before
            os.kill(server, signal.SIGKILL)
            wait_for(lambda: os.waitid(os.P_PID, server, os.WEXITED | os.WNOHANG | os.WNOWAIT))
            assert worker.run(cell(), Limits(60))["status"] == "ok"

    @pytest.mark.parametrize(
        ("where", "stated"),
        [
            ("none/r.nc", "{}: there is no folder .*none, want a file in an existing folder"),
            (".", "{}: this is a folder, want a file in an existing folder"),
            ("file/r.nc", "{}: .*file is not a folder"),
            ("taken.nc", "{}: finished cells are stored in the folder .*taken.nc.journal, but a file has this name"),
        ],
    )
    def test_refuses_an_output_that_cannot_be(self, where, stated, tmp_path):
        for name in ("file", "taken.nc.journal"):
            (tmp_path / name).touch()
        with pytest.raises(OSError, match="^" + stated.format(re.escape(str(tmp_path / where)))):
            run(suite("lms"), tmp_path / where)
        assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "taken.nc.journal"]

    def test_refuses_an_output_without_a_name(self):
        with pytest.raises(OSError, match="the output has no name"):
            run(suite("lms"), "")

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
    def test_what_is_no_plain_file_is_never_replaced(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "link").symlink_to("pipe")
        for name in ("pipe", "link"):
            with pytest.raises(OSError, match=f"{name}: not a regular file"):
                run(suite("lms"), tmp_path / name, isolate=False)
            with pytest.raises(OSError, match=f"{name}: not a regular file"):
                replace(tmp_path / name, lambda path: path.touch())
        assert (tmp_path / "pipe").is_fifo()
        assert (tmp_path / "link").is_symlink()
        assert len(list(tmp_path.iterdir())) == 2

    @pytest.mark.skipif(os.name == "nt", reason="links want rights there")
    def test_a_link_stays_and_its_file_is_replaced(self, tmp_path):
        (tmp_path / "data").mkdir()
        (tmp_path / "r.nc").symlink_to("data/there.nc")
        created = run(suite("lms"), tmp_path / "r.nc", isolate=False)
        assert (tmp_path / "r.nc").is_symlink()
        xr.testing.assert_identical(load(tmp_path / "data" / "there.nc"), created)

    def test_a_folder_without_leave_is_named_as_the_user_did(self, tmp_path, monkeypatch):
        def refuses(path):
            raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr(system, "create", refuses)
        with pytest.raises(PermissionError) as caught:
            run(suite("lms"), tmp_path / "r.nc", isolate=False)
        folder = re.escape(str(tmp_path))
        assert re.fullmatch(
            f"{folder}/r.nc: the folder {folder} cannot be .* \\(Permission denied\\)", str(caught.value)
        )

    def test_a_write_that_fails_names_the_target(self, tmp_path):
        with pytest.raises(OSError, match=r"y: cannot be written \(File name too long\)") as caught:
            replace(tmp_path / ("y" * 250), lambda file: file.write(b"whole"))
        assert ".tmp" not in str(caught.value)

    def test_without_a_backend_nothing_is_written(self, tmp_path, monkeypatch):
        monkeypatch.setattr(registry(), "backends", Table("backend"))
        with pytest.raises(UnavailableError, match=r"no backend is installed.*install .*orfit-bench-numpy"):
            run(Suite(), tmp_path / "r.nc")
        assert not list(tmp_path.iterdir())

    def test_refuses_a_timeout_of_nothing(self):
        with pytest.raises(ValueError, match="timeout=0"):
            run(suite("lms"), timeout=0)


def test_the_error_of_a_server_that_does_not_start_names_the_remedy(monkeypatch):
    monkeypatch.setattr("orfit_bench.bench.isolation.prepare", os.abort)  # as if its main module failed
    with pytest.raises(RuntimeError, match=r"the worker process does not start.*isolate=False"):
        run(suite("lms"))


@pytest.mark.parametrize("suite", [["lms"], "lms", []])
def test_something_else_than_a_suite_is_refused(suite):
    with pytest.raises(TypeError, match=r"suite: got (list|str), want a Suite"):
        run(suite, isolate=False)
