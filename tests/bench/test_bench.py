"""The benchmark in one process: protocols, cells, suites, the journal and the file."""

import dataclasses
import json
import os
import re
import signal
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

import orfit_bench as ob
from orfit_bench.bench import Cell, Protocol, Suite, learning, load, run, run_cell
from orfit_bench.bench.suite import DEFAULT_STREAMS, read
from orfit_bench.bench.worker import SubprocessExecutor
from orfit_bench.catalogue.streams import mnist_files
from orfit_bench.errors import UnavailableError
from orfit_bench.jobs.files import replace
from orfit_bench.jobs.journal import Journal
from orfit_bench.plugins.registry import Table, registry
from orfit_bench.spec import Backend, Data, Metric, Stream
from orfit_bench.spec.method import KINDS

SMALL = {"n": 60, "d": 4, "outputs": 1, "noise": 0.1}


@pytest.fixture
def plugin():
    """Registers a plugin with the given hooks for the time of a test."""
    added = []

    def add(**hooks):
        offers = {name: ob.hookimpl(value) for name, value in hooks.items()}
        made = SimpleNamespace(__name__=f"test-{len(added)}", SPEC_VERSION=(1, 0), **offers)
        ob.register(made)
        added.append(made)

    yield add
    for made in added:
        ob.unregister(made)


def hook(name, value):
    """A hook function that returns value."""

    def function():
        return value

    function.__name__ = name
    return function


def cell(method="lms", stream="regression", protocol=None, settings=None, sizes=SMALL):
    return Cell(method, "numpy", stream, settings or {}, sizes, protocol=protocol or Protocol())


def suite(*methods, **more):
    return Suite(**{"methods": methods, "backends": ["numpy"], "streams": ["regression"], "rows": [60], **more})


class TestProtocol:
    @pytest.mark.parametrize(
        ("protocol", "name"),
        [
            (Protocol(), "1 pass"),
            (Protocol(5), "5 passes"),
            (Protocol(1, 4, 100), "4 learners averaged every 100 rows"),
            (Protocol(1, 4, 1), "4 learners averaged every row"),
            (Protocol(2, 4), "2 passes, 4 learners averaged every pass"),
        ],
    )
    def test_name(self, protocol, name):
        assert protocol.name == name

    @pytest.mark.parametrize(
        ("arguments", "error", "said"),
        [
            ({"passes": 0}, ValueError, "passes=0: want an integer >= 1"),
            ({"learners": 2.0}, TypeError, "learners=2.0: want an integer >= 1"),
            ({"passes": True}, TypeError, "passes=True"),
            ({"learners": 2, "round": -1}, ValueError, "round=-1"),
            ({"round": 10}, ValueError, "a round requires at least 2"),
        ],
    )
    def test_refuses(self, arguments, error, said):
        with pytest.raises(error, match=said):
            Protocol(**arguments)

    def test_stretches_cover_the_rows_once_and_end_rounds(self):
        found = list(Protocol(1, 3, 10).chunks(100, stops=[45, 90]))
        assert [a for a, _, _ in found] == [0, 30, 45, 60, 90]
        assert [b for _, b, _ in found] == [30, 45, 60, 90, 100]
        assert [b for _, b, round_ends in found if round_ends] == [30, 60, 90, 100]

    def test_long_streams_come_in_chunks(self):
        assert max(b - a for a, b, _ in Protocol().chunks(5000)) == 1024


class TestLearning:
    def data(self):
        return ob.streams()["regression"].load(**SMALL)

    def make(self):
        return ob.create("lms", step_size=0.05)

    @pytest.mark.parametrize("stops", [(), (1, 2, 30, 59), range(60)])
    def test_averaging_is_that_done_by_hand(self, stops):
        data, protocol = self.data(), Protocol(passes=2, learners=3, round=7)
        learners = learning.initialize(self.make, data, protocol)
        learning.learn(learners, data, protocol, {*stops, *(60 + s for s in stops)})
        hand = [self.make() for _ in range(3)]
        for _ in range(2):
            for begin in range(0, 60, 21):
                for j, learner in enumerate(hand):
                    rows = [i for i in range(begin, min(begin + 21, 60)) if i % 3 == j]
                    learner.partial_fit(data.X[rows], data.y[rows])
                ob.average(hand)
        for got, want in zip(learners, hand, strict=True):
            xr.testing.assert_identical(got.state(), want.state())

    def test_without_a_round_the_average_ends_the_pass(self):
        data, protocol = self.data(), Protocol(learners=2)
        learners = learning.initialize(self.make, data, protocol)
        learning.learn(learners, data, protocol)
        hand = [self.make().partial_fit(data.X[j::2], data.y[j::2]) for j in range(2)]
        mean = sum(learner.state()["w"].values for learner in hand) / 2
        assert (learners[0].state()["w"].values == mean).all()

    def test_looking_between_rounds_changes_nothing(self):
        data, protocol = self.data(), Protocol(learners=2, round=25)
        looked, plain = (learning.initialize(self.make, data, protocol) for _ in range(2))
        learning.learn_and_record(looked, data, protocol)
        learning.learn(plain, data, protocol)
        xr.testing.assert_identical(looked[0].state(), plain[0].state())

    def test_passes_are_that_many_times_the_rows(self):
        data, protocol = self.data(), Protocol(passes=3)
        (learner,) = learning.initialize(self.make, data, protocol)
        learning.learn([learner], data, protocol)
        hand = self.make()
        for _ in range(3):
            hand.partial_fit(data.X, data.y)
        xr.testing.assert_identical(learner.state(), hand.state())

    def test_rows_that_wait_are_learned_at_the_end(self):
        data = self.data()
        data = dataclasses.replace(data, X=data.X[:3, :], y=data.y[:3])
        (learner,) = learning.initialize(lambda: ob.create("orfit", batch_size=2), data, Protocol())
        learning.learn([learner], data, Protocol())
        assert (learner.pending, learner.n_samples_seen_) == (0, 3)


class TestCell:
    @pytest.mark.parametrize(
        ("n", "passes", "points"), [(7, 1, 7), (60, 1, 25), (1000, 1, 25), (7, 3, 21), (30, 2, 25)]
    )
    def test_trajectory_has_up_to_25_points_and_ends_at_the_last_row(self, n, passes, points):
        record = run_cell(cell(sizes={**SMALL, "n": n}, protocol=Protocol(passes)))
        rows = record["rows_learned"]
        assert record["status"] == "ok"
        assert len(rows) == len(record["test_error"]) == points
        assert rows[-1] == n * passes
        assert (np.diff([0, *rows]) > 0).all()

    def test_errors_are_those_of_the_learner(self):
        record = run_cell(cell(settings={"step_size": 0.03}))
        data = ob.streams()["regression"].load(**SMALL)
        at = record["rows_learned"].index(record["rows_learned"][10])
        k = record["rows_learned"][at]
        learner = ob.create("lms", step_size=0.03).partial_fit(data.X[:k], data.y[:k])
        want = np.sqrt(np.mean((learner.predict(data.test[0]) - data.test[1]) ** 2))
        assert record["test_error"][at] == pytest.approx(want, rel=1e-13)
        assert record["metrics"]["test_error"] == record["test_error"][-1]

    def test_task_errors_look_back_only(self):
        record = run_cell(cell(stream="drift", sizes={"n": 50, "d": 3}))
        data = ob.streams()["drift"].load(n=50, d=3)
        learner = ob.create("lms").partial_fit(data.X[:15], data.y[:15])
        errors = np.array(record["task_error"])
        assert errors.shape == (10, 10)
        assert np.isnan(errors[np.triu_indices(10, 1)]).all()
        for j in range(3):
            rows = slice(5 * j, 5 * j + 5)
            want = np.mean((learner.predict(data.X[rows]) - data.y[rows]) ** 2)
            assert errors[2, j] == pytest.approx(want, rel=1e-13)

    def test_several_outputs_count_together(self):
        record = run_cell(cell(sizes={**SMALL, "outputs": 3}))
        data = ob.streams()["regression"].load(**{**SMALL, "outputs": 3})
        error = ob.create("lms").partial_fit(data.X, data.y).predict(data.test[0]) - data.test[1]
        want = np.sqrt(np.mean(np.sum(error**2, axis=1)))
        assert record["test_error"][-1] == pytest.approx(want, rel=1e-13)

    def test_times_and_numbers(self):
        record = run_cell(cell("rls"))
        assert 0 < record["seconds"] < 10
        assert 0 < record["seconds_compile"] < 100
        assert record["metrics"]["throughput"] == 60 / record["seconds"]
        assert record["metrics"]["deviation"] < 1e-12
        assert record["metrics"]["forgetting"] is None
        json.dumps(record)

    @pytest.mark.parametrize("protocol", [Protocol(2), Protocol(1, 2), Protocol(2, 2), Protocol(1, 3, 5)])
    def test_an_average_and_several_passes_have_no_batch_solution(self, protocol):
        assert run_cell(cell(protocol=Protocol()))["metrics"]["deviation"] < 1e-12
        assert run_cell(cell(protocol=protocol))["metrics"]["deviation"] is None

    def test_key_is_of_all_it_says(self):
        assert cell().key == cell(settings={}).key == "".join(cell().key)
        others = [cell("rls"), cell(protocol=Protocol(2)), cell(sizes={}), dataclasses.replace(cell(), seed=1)]
        assert len({c.key for c in [cell(), *others]}) == 5

    def test_a_stream_without_a_test_set(self, plugin):
        bare = Stream("bare", "no test set", lambda: Data(np.eye(3), np.ones(3)))
        plugin(streams=hook("streams", (bare,)))
        record = run_cell(cell(stream="bare", sizes={}))
        assert np.isnan(record["test_error"]).all()
        assert record["metrics"]["test_error"] is None

    def test_divergence_is_a_failure_with_its_reason(self):
        record = run_cell(cell(settings={"step_size": 1e300}))
        assert record["status"] == "failed"
        assert record["reason"].startswith("DivergedError: lms diverged at step")
        assert "\n" not in record["reason"]

    def test_a_size_the_stream_lacks_is_a_failure(self):
        record = run_cell(cell(stream="rotated_digits", sizes={"n": 100_000}))
        assert record["status"] == "failed"
        assert "n=100000: want at most" in record["reason"]

    def test_metrics_that_fail_are_noted(self, plugin):
        def raises(record):
            raise KeyError("oh")

        def leaves(record):
            raise SystemExit(4)

        def warns(record):
            warnings.warn("half of it", UserWarning, stacklevel=1)
            return 2

        made = [Metric(f.__name__, "1", "", "", "", "lower", f) for f in (raises, leaves, warns)]
        plugin(metrics=hook("metrics", made))
        record = run_cell(cell())
        assert record["status"] == "ok"
        assert record["metrics"]["raises"] is record["metrics"]["leaves"] is None
        assert record["metrics"]["warns"] == 2.0
        assert record["notes"] == [
            "metric raises: KeyError: 'oh'",
            "metric leaves: SystemExit: 4",
            "UserWarning: half of it",
        ]


class TestSuite:
    def test_default_is_every_method_and_backend(self):
        cells = [c for c, _ in Suite().cells()]
        assert {c.method for c in cells} == set(ob.methods())
        assert {c.backend for c in cells} == {name for name, b in ob.backends().items() if b.available}
        assert {c.stream for c in cells} >= {"rotated_digits", "drift"}
        assert {c.seed for c in cells} == {0}
        for c in cells:
            assert c.stream in DEFAULT_STREAMS[ob.methods()[c.method].kind]

    def test_default_streams_suit_their_kinds(self):
        assert set(DEFAULT_STREAMS) == set(KINDS)
        for kind, names in DEFAULT_STREAMS.items():
            assert all(ob.streams()[name].suits(kind) for name in names)

    def test_settings_are_laid_over_all_entries_of_a_name(self):
        entries = ["lms", {"name": "lms", "settings": {"step_size": 0.1}}, {"name": "rls", "settings": {"ridge": 2}}]
        over = {"lms": {"step_size": 0.5}, "rls": {"forgetting_factor": 0.9}, "regression": {"d": 2}}
        cells = [c for c, _ in suite(*entries, settings=over).cells()]
        half = {"step_size": ob.schedules.constant(0.5).config()}
        assert [c.settings for c in cells] == [half, {"forgetting_factor": 0.9, "ridge": 2.0}]
        assert {c.stream_settings["d"] for c in cells} == {2}

    def test_all_combinations_none_twice(self):
        made = suite("lms", "rls", "lms", rows=[10, 20], features=[2, 3], seeds=[0, 1, 1])
        cells = [c for c, _ in made.cells()]
        assert len(cells) == len({c.key for c in cells}) == 2 * 2 * 2 * 2

    def test_settings_are_complete_and_plain(self):
        ((one, _),) = suite({"name": "lms", "settings": {"step_size": ob.schedules.power(1.0, 0.5)}}).cells()
        assert one.settings == {"step_size": {"power": {"eta0": 1.0, "power": 0.5}}}
        order = {"sampling": "once", "passes": 1}
        assert one.stream_settings == {"n": 60, "d": 16, "outputs": 1, "noise": 0.1, **order}

    @pytest.mark.parametrize(
        ("arguments", "error", "said"),
        [
            ({"methods": ["rsl"]}, ValueError, "no method 'rsl'. Did you mean 'rls'"),
            ({"backends": ["nunpy"]}, ValueError, "no backend 'nunpy'. Did you mean 'numpy'"),
            ({"streams": ["drifts"]}, ValueError, "no stream 'drifts'. Did you mean 'drift'"),
            (
                {"methods": [{"name": "rls", "settings": {"rigde": 1}}]},
                TypeError,
                "rls has no setting 'rigde'. Did you mean 'ridge'",
            ),
            ({"methods": [{"name": "rls", "settings": {"ridge": -1}}]}, ValueError, "rls: ridge=-1: want a number"),
            ({"methods": [{"name": "rls", "setings": {}}]}, ValueError, "Did you mean 'settings'"),
            ({"methods": [{"settings": {}}]}, TypeError, "want a name or"),
            ({"methods": [{"name": "rls", "settings": 3}]}, TypeError, "settings=3: want a table"),
            ({"methods": "rls"}, TypeError, "methods='rls': want a list"),
            ({"seeds": 3}, TypeError, "seeds=3: want a list"),
            ({"seeds": [-1]}, ValueError, "random_state=-1"),
            ({"seeds": []}, ValueError, "at least one seed"),
            ({"settings": {"drift": 3}}, TypeError, "settings=.*want a table of tables"),
            (
                {"settings": {"drift": {"d": 2}}},
                ValueError,
                "settings of 'drift': no such method or stream",
            ),
            ({"settings": {"lms": {"ridge": 2}}}, TypeError, "lms has no setting 'ridge'"),
            ({"streams": [{"name": "drift", "model": {}}]}, ValueError, "an entry of streams has no 'model'"),
            ({"rows": [0]}, ValueError, "regression: n=0"),
            (
                {"streams": ["rotated_digits"], "features": [5]},
                ValueError,
                "'rotated_digits' has a fixed number of features",
            ),
            (
                {"streams": [{"name": "drift", "settings": {"seed": 1}}]},
                ValueError,
                "set its seed by the seeds",
            ),
            ({"dtype": "int8"}, ValueError, "dtype='int8': want one of float64, float32"),
            ({"protocol": 3}, TypeError, "want a Protocol"),
        ],
    )
    def test_refuses(self, arguments, error, said, tmp_path):
        with pytest.raises(error, match=said):
            run(suite(**{"methods": ["lms"], **arguments}), tmp_path / "r.nc")
        assert not list(tmp_path.iterdir())

    def test_reads_toml(self, tmp_path):
        path = tmp_path / "mine.toml"
        path.write_text(
            'methods = ["lms", {name = "rls", settings = {forgetting_factor = 0.99}}]\n'
            'streams = [{name = "drift", settings = {d = 3}}]\nbackends = ["numpy"]\nrows = [20]\nseeds = [1, 2]\n'
            'dtype = "float32"\nprotocol = {passes = 2}\nsettings = {rls = {ridge = 3}}\n'
        )
        cells = [c for c, _ in read(path).cells()]
        assert [(c.method, c.seed) for c in cells] == [("lms", 1), ("rls", 1), ("lms", 2), ("rls", 2)]
        assert cells[1].settings == {"forgetting_factor": 0.99, "ridge": 3.0}
        assert cells[0].stream_settings["d"] == 3
        assert {(c.dtype, c.protocol) for c in cells} == {("float32", Protocol(2))}

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("methods = [", "not a TOML file"),
            ("metods = ['lms']", "a suite has no 'metods'. Did you mean 'methods'"),
            ("protocol = {pases = 2}", "a protocol has no 'pases'. Did you mean 'passes'"),
            ("protocol = 3", "a protocol: got 3, want a table"),
            ("methods = ['rsl']", "no method 'rsl'"),
            ("seeds = 3", "seeds=3: want a list"),
        ],
    )
    def test_refuses_toml(self, text, said, tmp_path):
        path = tmp_path / "mine.toml"
        path.write_text(text)
        with pytest.raises(ValueError, match=said) as caught:
            read(path)
        assert str(path) in str(caught.value)


class TestRun:
    def test_file_and_table_are_one(self, tmp_path):
        path = tmp_path / "r.nc"
        made = run(suite("lms", "rls", "greedy", streams=["regression", "drift"]), path, isolate=False)
        xr.testing.assert_identical(load(path), made)
        assert [p.name for p in tmp_path.iterdir()] == ["r.nc"]
        assert dict(made.sizes) == {"cell": 6, "point": 25, "task": 10, "task_after": 10}
        assert made["method"].values.tolist() == ["lms", "rls", "greedy"] * 2
        assert made["throughput"].attrs["units"] == "1/s"
        assert np.isnan(made["deviation"].values[2])
        assert np.isnan(made["task_error"].values[0]).all()
        assert json.loads(made.attrs["versions"])["numpy"] == np.__version__
        assert json.loads(made.attrs["machine"])["cores"] == os.cpu_count()
        assert json.loads(made.attrs["suite"])["rows"] == [60]
        assert set(json.loads(made.attrs["commit"])) == {"id", "dirty", "changes", "plugins"}

    def test_load_refuses_other_files(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            load(tmp_path / "none.nc")
        (tmp_path / "text.nc").write_text("not netCDF")
        with pytest.raises(ValueError, match="not a netCDF file"):
            load(tmp_path / "text.nc")
        old = xr.Dataset({"a": 1}, attrs={"format": "orfit_bench results 1"})
        old.to_netcdf(tmp_path / "old.nc", engine="h5netcdf")
        said = r"old\.nc: written in the format .orfit_bench results 1., but this version reads"
        with pytest.raises(ValueError, match=said):
            load(tmp_path / "old.nc")
        xr.Dataset({"a": 1}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
        with pytest.raises(ValueError, match="not a file of orfit_bench results"):
            load(tmp_path / "other.nc")

    def test_absence_is_said(self, plugin):
        def broken():
            raise ImportError("no driver")

        gone = Backend("gone", "", namespace=lambda: np, probe=lambda: "no device")
        worse = Backend("worse", "", namespace=lambda: np, probe=broken)

        def no_file():
            raise UnavailableError("no file")

        bare = Stream("bare", "", no_file)
        plugin(backends=hook("backends", (gone, worse)), streams=hook("streams", (bare,)))
        made = suite("lms", backends=["numpy", "gone", "worse"], streams=["regression", "bare"], rows=[])
        done = run(made, isolate=False)
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
        plugin(streams=hook("streams", ()))
        with pytest.raises(ValueError, match="pass isolate=False"):
            run(suite("lms"))

    def test_a_worker_gives_the_same_numbers(self):
        before = dict(os.environ)
        here, there = run(suite("rls"), isolate=False), run(suite("rls"))
        assert dict(os.environ) == before
        assert (here["test_error_trajectory"].values == there["test_error_trajectory"].values).all()
        assert set(json.loads(there.attrs["machine"])["threads"].values()) == {"1"}

    @pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
    def test_a_worker_that_dies_between_cells_is_replaced(self):
        with SubprocessExecutor() as worker:
            assert worker.run(cell(), timeout=60)["status"] == "ok"
            os.kill(worker._pool.schedule(os.getpid).result(), signal.SIGKILL)
            end = time.monotonic() + 30
            while worker._pool.active and time.monotonic() < end:
                time.sleep(0.01)
            assert worker.run(cell(), timeout=60)["status"] == "ok"

    @pytest.mark.parametrize(
        ("where", "said"),
        [
            ("none/r.nc", "{}: there is no folder .*none, want a file in an existing folder"),
            (".", "{}: this is a folder, want a file in an existing folder"),
            ("file/r.nc", "{}: .*file is not a folder"),
            ("taken.nc", "{}: finished cells are stored in the folder .*taken.nc.journal, but a file has this name"),
        ],
    )
    def test_refuses_an_output_that_cannot_be(self, where, said, tmp_path):
        for name in ("file", "taken.nc.journal"):
            (tmp_path / name).touch()
        with pytest.raises(OSError, match="^" + said.format(re.escape(str(tmp_path / where)))):
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
        made = run(suite("lms"), tmp_path / "r.nc", isolate=False)
        assert (tmp_path / "r.nc").is_symlink()
        xr.testing.assert_identical(load(tmp_path / "data" / "there.nc"), made)

    def test_a_folder_without_leave_is_named_as_the_user_did(self, tmp_path, monkeypatch):
        def refuses(dir):
            raise PermissionError(13, "Permission denied", f"{dir}/tmpx8k2")

        monkeypatch.setattr("tempfile.TemporaryFile", refuses)
        with pytest.raises(PermissionError) as caught:
            run(suite("lms"), tmp_path / "r.nc", isolate=False)
        folder = re.escape(str(tmp_path))
        assert re.fullmatch(
            f"{folder}/r.nc: the folder {folder} cannot be .* \\(Permission denied\\)", str(caught.value)
        )

    def test_a_write_that_fails_names_the_target(self, tmp_path):
        with pytest.raises(OSError, match=r"y: cannot be written \(File name too long\)") as caught:
            replace(tmp_path / ("y" * 250), lambda path: path.write_text("whole"))
        assert ".tmp" not in str(caught.value)

    def test_without_a_backend_nothing_is_written(self, tmp_path, monkeypatch):
        monkeypatch.setattr(registry(), "backends", Table("backend"))
        with pytest.raises(UnavailableError, match=r"no backend is installed.*install .*orfit-bench-numpy"):
            run(Suite(), tmp_path / "r.nc")
        assert not list(tmp_path.iterdir())

    def test_refuses_a_timeout_of_nothing(self):
        with pytest.raises(ValueError, match="timeout=0"):
            run(suite("lms"), timeout=0)


class TestJournal:
    def interrupted(self, path, after):
        """Run until `after` cells are done, as if the user had stopped it there."""

        def stop(done, total, record):
            if record and done == after:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run(suite("lms", "nlms", "rls"), path, isolate=False, progress=stop)

    @pytest.mark.parametrize("fresh", [False, True])
    def test_another_command_leaves_these_cells(self, fresh, tmp_path):
        path = tmp_path / "r.nc"
        self.interrupted(path, 2)
        run(suite("rls", "icl"), path, isolate=False, fresh=fresh)
        seen = []
        run(suite("lms", "nlms", "rls"), path, isolate=False, progress=lambda *a: seen.append(a[:2]))
        assert seen == [(2, 3), (3, 3)]
        assert [p.name for p in tmp_path.iterdir()] == ["r.nc"]

    def test_half_a_record_of_a_killed_run_goes_with_its_cell(self, tmp_path):
        journal = Journal(tmp_path / "r.nc", {})
        journal.write({"key": "a"})
        (journal.folder / ".a.json.123.tmp").write_text("{")
        journal.remove(["a", "b"])
        assert not journal.folder.exists()
        journal.remove(["a"])

    def test_goes_on_where_it_was_stopped(self, tmp_path):
        path = tmp_path / "r.nc"
        self.interrupted(path, 2)
        assert not path.exists()
        seen = []
        done = run(suite("lms", "nlms", "rls"), path, isolate=False, progress=lambda *a: seen.append(a[:2]))
        assert seen == [(2, 3), (3, 3)]
        assert done["method"].values.tolist() == ["lms", "nlms", "rls"]
        assert [p.name for p in tmp_path.iterdir()] == ["r.nc"]

    def test_fresh_forgets(self, tmp_path):
        self.interrupted(tmp_path / "r.nc", 2)
        seen = []
        run(suite("lms"), tmp_path / "r.nc", isolate=False, fresh=True, progress=lambda *a: seen.append(a[:2]))
        assert seen == [(0, 1), (1, 1)]

    def test_other_cells_versions_and_damage_do_not_count(self, tmp_path):
        journal = Journal(tmp_path / "r.nc", {"versions": 1})
        journal.write({"key": "a", "value": [1.5, float("nan")]})
        (journal.folder / "b.json").write_text('{"identity": ')
        (journal.folder / "c.json").write_text("[]")
        assert list(Journal(tmp_path / "r.nc", {"versions": 1}).read()) == ["a"]
        assert Journal(tmp_path / "r.nc", {"versions": 2}).read() == {}

    def test_cells_of_other_images_do_not_count(self, tmp_path, monkeypatch):
        images = tmp_path / "images"
        monkeypatch.setattr(Suite, "files", lambda suite: [images])
        images.write_bytes(b"these")
        self.interrupted(tmp_path / "r.nc", 2)
        images.write_bytes(b"those")
        seen = []
        run(suite("lms", "nlms", "rls"), tmp_path / "r.nc", isolate=False, progress=lambda *a: seen.append(a[:2]))
        assert seen[0] == (0, 3)

    def test_a_suite_knows_the_users_files_of_its_streams(self, tmp_path, monkeypatch):
        monkeypatch.setenv("ORFIT_BENCH_DATA", str(tmp_path))
        monkeypatch.setattr(mnist_files, "_cache", lambda: tmp_path / "none")
        (tmp_path / "mnist").mkdir()
        here = tmp_path / "mnist" / "t10k-images-idx3-ubyte.gz"
        here.write_bytes(b"images")
        assert Suite(methods=["lms"], streams=["mnist", "rotated_mnist"]).files() == [here]
        assert Suite(methods=["lms"], streams=["drift"]).files() == []

    def test_a_failed_write_leaves_the_old_file_and_the_journal(self, tmp_path, monkeypatch):
        def half(table, path, **_):
            Path(path).write_bytes(b"half")
            raise OSError("disk full")

        path = tmp_path / "r.nc"
        run(suite("lms"), path, isolate=False)
        before = path.read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr(xr.Dataset, "to_netcdf", half)
            with pytest.raises(OSError, match="disk full"):
                run(suite("rls"), path, isolate=False)
        assert path.read_bytes() == before
        assert sorted(p.name for p in tmp_path.iterdir()) == ["r.nc", "r.nc.journal"]
        seen = []
        run(suite("rls"), path, isolate=False, progress=lambda *a: seen.append(a[:2]))
        assert seen == [(1, 1)]


class TestMemoryBudget:
    """Metrics that would take more memory than the budget are not computed, and the notes say why."""

    def test_metric_above_budget_is_noted(self):
        cell = Cell("rls", "numpy", "regression", stream_settings={"n": 200, "d": 8})
        within, above = (run_cell(cell, memory_budget) for memory_budget in (1e9, 1e3))
        assert within["metrics"]["deviation"] < 1e-10
        assert not within["notes"]
        assert [above["metrics"][name] for name in ("deviation", "regret")] == [None, None]
        assert any(re.match(r"metric deviation: needs \S+ GB, more than 1e-06 GB", note) for note in above["notes"])

    def test_square_matrices_are_declared(self):
        settings = {"momentum": 0.5}
        cell = Cell("sgd", "numpy", "regression", settings, {"n": 9000, "d": 4})
        assert any("metric deviation: needs" in note for note in run_cell(cell)["notes"])

    @pytest.mark.parametrize("budget", [-1.0, float("nan")])
    def test_wrong_budget_is_refused(self, budget):
        with pytest.raises(ValueError, match="memory_budget"):
            run(Suite(methods=["lms"]), memory_budget=budget)


@pytest.mark.parametrize("method", ["lms", "nlms", "one_step_sgd", "rls", "ridge"])
def test_batch_solution_in_blocks_is_that_of_all_rows(method, monkeypatch):
    from orfit_bench.catalogue.shared import least_squares, recursions

    rng = np.random.default_rng(0)
    X = 0.3 * rng.standard_normal((300, 5))
    Y, w0 = X @ rng.standard_normal((5, 2)) + rng.standard_normal((300, 2)), rng.standard_normal((5, 2))
    for more in ({}, {"forgetting_factor": 0.95}, {"forgetting_factor": 1.05}):
        if more and method not in ("rls", "ridge"):
            continue
        learner = ob.create(method, **more)
        whole = learner.method.theory.batch(X, Y, w0, learner.settings)
        with monkeypatch.context() as patch:
            patch.setattr(least_squares, "BLOCK_ROWS", 64)
            patch.setattr(recursions, "BLOCK_ROWS", 64)
            np.testing.assert_allclose(learner.method.theory.batch(X, Y, w0, learner.settings), whole, atol=1e-12)
