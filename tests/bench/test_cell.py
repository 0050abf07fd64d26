"""Cells: measuring one and recording what failed."""

import ctypes
import dataclasses
import importlib
import json
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from helpers.suites import SMALL, cell, hook

import orfit_bench as ob
from orfit_bench.bench import Protocol, error, isolation, run_cell
from orfit_bench.bench.cell import Cell
from orfit_bench.jobs import fingerprint, phases
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Data, Metric, Stream, file_stream


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

    def test_key_depends_on_every_field(self):
        assert cell().key == cell(settings={}).key == "".join(cell().key)
        others = [cell("rls"), cell(protocol=Protocol(2)), cell(sizes={}), dataclasses.replace(cell(), seed=1)]
        assert len({c.key for c in [cell(), *others]}) == 5

    def test_a_stream_without_a_test_set(self, plugin):
        bare = Stream("bare", "no test set", lambda: Data(np.eye(3), np.ones(3)))
        plugin(streams=hook("streams", (bare,)))
        record = run_cell(cell(stream="bare", sizes={}))
        assert np.isnan(record["test_error"]).all()
        assert record["metrics"]["test_error"] is None

    def test_arrays_of_the_stream_stay_writable(self, plugin):
        X, y, held_out = np.eye(3), np.ones(3), (np.eye(3), np.ones(3))
        own = Stream("own", "the user's arrays", lambda: Data(X, y, held_out, held_out))
        plugin(streams=hook("streams", (own,)))
        data = cell(stream="own", sizes={}).data()
        assert run_cell(cell(stream="own", sizes={}))["status"] == "ok"
        assert all(a.flags.writeable for a in (X, y, *held_out))
        assert not any(a.flags.writeable for a in (data.X, data.y, *data.test, *data.validation))

    def test_divergence_is_a_failure_with_its_reason(self):
        record = run_cell(cell(settings={"step_size": 1e300}))
        assert record["status"] == "failed"
        assert record["reason"].startswith("DivergedError: lms diverged at step")
        assert "\n" not in record["reason"]

    def test_a_size_the_stream_lacks_is_a_failure(self):
        record = run_cell(cell(stream="rotated_digits", sizes={"n": 100_000}))
        assert record["status"] == "failed"
        assert "n=100000: want at most" in record["reason"]

    def test_what_a_metric_changes_reaches_no_other(self, plugin):
        def spoils(record):
            record.learner.partial_fit(100.0 * record.data.X, -record.data.y)
            return 1.0

        def writes(record):
            record.test_error[:] = 0.0
            return 1.0

        def rows(record):
            return record.learner.n_samples_seen_

        created = [Metric(f.__name__, "1", "", "", "", "lower", f) for f in (spoils, writes, rows)]
        plugin(metrics=hook("metrics", created))
        record = run_cell(cell("rls"))
        assert record["metrics"]["spoils"] == 1.0
        assert record["metrics"]["writes"] is None
        assert record["notes"] == ["metric writes: ValueError: assignment destination is read-only"]
        assert record["metrics"]["rows"] == 60
        assert min(record["test_error"]) > 0

    def test_the_phase_of_a_cell_names_the_stream_and_the_metric(self, plugin, monkeypatch):
        monkeypatch.setattr(phases, "_shared", [])
        memory, seen = phases.new_memory(), []
        phases.report_to(memory)

        def watches(record):
            seen.append(phases.read(memory))
            return 1.0

        def make():
            seen.append(phases.read(memory))
            return Data(np.eye(3), np.ones(3))

        plugin(
            metrics=hook("metrics", [Metric("watches", "1", "", "", "", "lower", watches)]),
            streams=hook("streams", (Stream("own", "", make),)),
        )
        assert run_cell(cell(stream="own", sizes={}))["status"] == "ok"
        stream, metric = "loaded the stream own", "computed the metric watches"
        assert seen == [f"it {stream} of this process", f"it {metric} of this process"]
        assert phases.read(memory) == ""

    def test_metrics_that_fail_are_noted(self, plugin):
        def raises(record):
            raise KeyError("oh")

        def leaves(record):
            raise SystemExit(4)

        def warns(record):
            warnings.warn("half of it", UserWarning, stacklevel=1)
            return 2

        def knows_nothing(record):
            return float("nan")

        functions = (raises, leaves, warns, knows_nothing)
        created = [Metric(f.__name__, "1", "", "", "", "lower", f) for f in functions]
        plugin(metrics=hook("metrics", created))
        record = run_cell(cell())
        assert record["status"] == "ok"
        assert record["metrics"]["raises"] is record["metrics"]["leaves"] is None
        assert record["metrics"]["warns"] == 2.0
        assert record["notes"] == [
            "metric raises: KeyError: 'oh'",
            "metric leaves: SystemExit: 4",
            "metric knows_nothing: is NaN",
            "UserWarning: half of it",
        ]


def test_kernels_cannot_write_to_the_rows():
    data = cell().data()
    for array in (data.X, data.y, *data.test, data.cut(0, 5)[0]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_a_kernel_that_returns_more_rows_than_it_got_fails(monkeypatch):
    kernel = registry().kernel("numpy", "lms")
    learn = kernel.learn
    monkeypatch.setattr(kernel, "learn", lambda s, X, Y, p, out: len(X) + learn(s, X, Y, p, out))
    record = run_cell(cell())
    assert record["status"] == "failed"
    assert "learn of its kernel returned more than it got" in record["reason"]


def test_a_long_message_is_shortened(monkeypatch):
    def fail(*_):
        raise ValueError("z" * 10**6)

    monkeypatch.setattr(registry().kernel("numpy", "lms"), "learn", fail)
    reason = run_cell(cell())["reason"]
    assert len(reason) < 5000
    assert "(1000000 characters)" in reason


def test_a_cell_in_which_functions_were_replaced_fails(monkeypatch):
    monkeypatch.setattr(isolation, "_loaded", [fingerprint.take()])
    assert isolation._run(cell(), 1e9, True)["status"] == "ok"
    monkeypatch.setattr(error, "squared_error", lambda *_: 0.0)
    record = isolation._run(cell(), 1e9, True)
    assert record["status"] == "failed"
    assert record["reason"].endswith("nothing that was measured is right: orfit_bench.bench.error.squared_error")


@pytest.mark.parametrize("sampling", ["once", "uniform"])
def test_seeds_that_do_not_change_the_rows_of_a_file_give_one_key(sampling, tmp_path, monkeypatch):
    monkeypatch.setattr(file_stream, "IN_MEMORY", 0)
    np.savetxt(tmp_path / "rows.csv", np.eye(9), delimiter=",", header="a,b,c,d,e,f,g,h,y", comments="")
    settings = {"path": str(tmp_path / "rows.csv"), "target": ["y"], "sampling": sampling}
    keys = [run_cell(Cell("lms", "numpy", "file", stream_settings=settings, seed=seed))["rows_hash"] for seed in (0, 1)]
    assert (keys[0] == keys[1] != "") if sampling == "once" else keys == ["", ""]


@pytest.mark.parametrize("after", ["", "raise ImportError('broken')"])
def test_kernels_whose_import_replaces_those_of_others_are_left_to_their_cells(after, plugin, tmp_path, monkeypatch):
    kernel = importlib.import_module("orfit_bench_numpy.lms")
    monkeypatch.setattr(kernel, "learn", kernel.learn)  # restored after the test
    monkeypatch.setattr(isolation, "_loaded", [])
    name = f"replacing_{len(after)}"
    (tmp_path / f"{name}.py").write_text(f"import orfit_bench_numpy.lms as lms\nlms.learn = learn = len\n{after}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    own = dataclasses.replace(ob.methods()["lms"], name=name)
    plugin(methods=hook("methods", [own]), kernels=hook("kernels", {("numpy", name): name}))
    kernels = [("numpy", "nlms", "float64"), ("numpy", name, "float64")]
    assert isolation.prepare(kernels[:1]) is None
    assert isolation.prepare(kernels) == kernels[1]


@pytest.mark.parametrize("name", ["X", "Y"])
def test_rows_that_a_kernel_changes_in_memory_are_noticed(name, plugin):
    """C code can change them, as can any code that sets the flag writeable."""

    def learn(s, X, Y, p, out):
        rows = {"X": X, "Y": Y}[name]
        ctypes.memset(rows.ctypes.data, 0, rows.nbytes)
        return len(X)

    own = dataclasses.replace(ob.methods()["lms"], name="writes")
    kernel = SimpleNamespace(learn=learn, update=lambda s, J, E, p: True)
    plugin(methods=hook("methods", [own]), kernels=hook("kernels", {("numpy", "writes"): kernel}))
    record = run_cell(cell("writes"))
    assert (record["status"], record["reason"].partition(":")[2].partition(":")[0]) == (
        "failed",
        " rows were changed while they were learned",
    )


class TestTargetsOfTheTestSet:
    """Errors on rows that are never learned."""

    X = pd.DataFrame(np.random.default_rng(0).standard_normal((60, 2)), columns=["a", "b"])

    def status(self, plugin, y, test, name="mine"):
        plugin(streams=hook("streams", (Stream(name, "", make=lambda: Data(self.X, y, test=test)),)))
        record = run_cell(Cell("rls", "numpy", name))
        return record["status"], record["reason"], record.get("metrics", {}).get("test_error")

    @pytest.mark.parametrize("columns", ["a", ["a"], ["a", "b"]])
    def test_tables_have_the_errors_of_arrays(self, plugin, columns):
        y = self.X[columns]
        status, reason, of_table = self.status(plugin, y, (self.X[:20], y[:20]))
        assert status == "ok", reason
        learner = ob.create("rls").partial_fit(self.X.to_numpy(), y.to_numpy())
        error = (learner.predict(self.X[:20].to_numpy()) - y[:20].to_numpy()).reshape(20, -1)
        assert of_table == pytest.approx(np.sqrt((error**2).sum(axis=1).mean()), rel=1e-6)

    def test_rows_in_another_order_are_refused(self, plugin):
        y = self.X["a"]
        status, reason, _ = self.status(plugin, y, (self.X[:20], y[:20].sample(frac=1, random_state=0)))
        assert status == "failed"
        assert "test y: its rows have the labels of X in another order" in reason

    def test_infinite_targets_are_refused(self, plugin):
        y = self.X["a"].to_numpy().copy()
        y[7] = np.inf
        status, reason, _ = self.status(plugin, np.zeros(60), (self.X[:20].to_numpy(), y[:20]))
        assert (status, "test y[7] is inf: want finite numbers" in reason) == ("failed", True)

    def test_missing_numbers_of_the_test_set_are_named_so(self, plugin):
        X = self.X[:20].to_numpy().copy()
        X[7, 1] = np.nan
        status, reason, _ = self.status(plugin, np.zeros(60), (X, np.zeros(20)))
        assert (status, "ValueError: test X[7, 1] is nan" in reason) == ("failed", True)

    def test_texts_of_the_test_set_are_named_so(self, plugin):
        status, reason, _ = self.status(plugin, np.zeros(60), (self.X[:20].to_numpy().astype("U8"), np.zeros(20)))
        assert (status, "TypeError: test X: got" in reason) == ("failed", True)

    def test_missing_numbers_of_a_large_test_table_are_counted_from_its_part(self, plugin, monkeypatch):
        monkeypatch.setattr("orfit_bench.bench.error.ROWS", 8)
        X = self.X[:20].copy()
        X.iloc[13, 1] = np.nan
        _, reason, _ = self.status(plugin, np.zeros(60), (X, np.zeros(20)))
        assert "test X[5, 1] is nan" in reason
        assert "(rows are counted from row 8)" in reason

    @pytest.mark.parametrize("dtype", ["U8", "O", "complex128"])
    def test_texts_and_complex_numbers_are_no_targets(self, plugin, dtype):
        y = self.X["a"].to_numpy()
        test = y[:20].astype(str).astype(object) if dtype == "O" else y[:20].astype(dtype)
        status, reason, _ = self.status(plugin, y, (self.X[:20].to_numpy(), test))
        assert (status, "test y: got targets of dtype" in reason) == ("failed", True)

    @pytest.mark.parametrize("dtype", ["Float64", "float32", "int64", "O"])
    def test_numbers_of_other_types_are_targets(self, plugin, dtype):
        y = self.X["a"].round()
        wanted = self.status(plugin, y, (self.X[:20], y[:20]))
        assert self.status(plugin, y, (self.X[:20], y[:20].astype(dtype)), "other") == wanted

    @pytest.mark.parametrize(("learned", "held_out"), [(int, float), (int, str), (str, int), (bool, int)])
    def test_labels_of_another_type_are_refused(self, plugin, learned, held_out):
        """They would all count as wrong predictions."""
        y = (self.X["a"].to_numpy() > 0).astype(int)
        data = Data(self.X.to_numpy(), y.astype(learned), test=(self.X.to_numpy(), y.astype(held_out)))
        plugin(streams=hook("streams", (Stream("mine", "", make=lambda: data, offers="labels"),)))
        record = run_cell(Cell("class_rls", "numpy", "mine"))
        assert record["status"] == "failed"
        assert f"test y: got labels of type {held_out.__name__}, want {learned.__name__}" in record["reason"]

    def test_labels_may_be_missing(self, plugin):
        """Integers, some of which are missing, are floats."""
        y = (self.X["a"].to_numpy() > 0).astype(int)
        held_out = np.where(np.arange(len(y)) < 5, np.nan, y)
        data = Data(self.X.to_numpy(), y, test=(self.X.to_numpy(), held_out))
        plugin(streams=hook("streams", (Stream("mine", "", make=lambda: data, offers="labels"),)))
        record = run_cell(Cell("class_rls", "numpy", "mine"))
        assert record["status"] == "ok"
        assert record["metrics"]["test_error"] < 0.5

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_subspaces_ignore_targets(self, plugin, value):
        """Rows count in their loss with or without a target."""

        def metrics(stream, y):
            data = Data(self.X.to_numpy(), y, test=(self.X.to_numpy(), y), tasks=(0, 30, 60))
            plugin(streams=hook("streams", (Stream(stream, "", make=lambda: data, offers="gaps"),)))
            found = run_cell(Cell("oja", "numpy", stream, {"n_components": 1}))["metrics"]
            return {name: found[name] for name in ("test_error", "excess_loss", "forgetting")}

        assert metrics("gaps", np.where(np.arange(60) % 3, 0.0, value)) == metrics("none", np.zeros(60))
