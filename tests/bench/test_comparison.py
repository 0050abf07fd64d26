"""Comparison of results."""

import io
import json
import math

import numpy as np
import pytest
import xarray as xr
from helpers.outcomes import created, table
from helpers.results import call, changed, files
from rich.console import Console

import orfit_bench as ob
from orfit_bench.bench import Suite, comparison, run
from orfit_bench.report.comparison import changes_table


class TestCompare:
    def test_nothing_changed(self, measured):
        assert comparison.changes(measured, measured.copy(deep=True)) == []

    @pytest.mark.parametrize(
        ("metric", "factor", "worse"),
        [
            ("seconds_per_sample", 1.5, True),
            ("seconds_per_sample", 0.5, False),
            ("test_error", 1.02, True),
            ("backward_transfer", 1.5, None),
        ],
    )
    def test_names_who_got_worse_in_what(self, measured, metric, factor, worse):
        (found,) = comparison.changes(measured, changed(measured, "rls", **{metric: factor}))
        old = float(measured[metric].values[measured["method"].values == "rls"].item())
        if worse is None:  # more is better
            worse = factor * old < old
        assert (found.cell["method"], found.metric, found.worse) == ("rls", metric, worse)
        assert found.relative == pytest.approx(np.sign(old) * (factor - 1))

    def test_memory_of_a_few_objects_is_no_change(self, measured):
        bytes_used = measured["host_memory"].values.max()
        few, many = (changed(measured, host_memory=size / bytes_used) for size in (6e4, 1e6))
        assert comparison.changes(measured, few) == []
        assert {(c.metric, c.worse) for c in comparison.changes(few, many)} == {("host_memory", True)}
        assert {c.worse for c in comparison.changes(many, changed(many, host_memory=1.1))} == {True}

    @pytest.mark.parametrize(("factor", "seen"), [(1.19, 0), (1.21, 2)])
    def test_as_much_as_the_metric_tolerates(self, measured, factor, seen):
        assert len(comparison.changes(measured, changed(measured, seconds_per_sample=factor))) == seen

    def test_as_much_as_the_user_tolerates(self, measured):
        after = changed(measured, seconds_per_sample=1.19)
        assert len(comparison.changes(measured, after, {"seconds_per_sample": 0.1})) == 2
        assert comparison.changes(measured, after, {"seconds_per_sample": 0.5}) == []

    def test_rounding_is_no_change_and_a_lost_digit_is(self, measured):
        deviation = measured["deviation"].values.max()
        assert comparison.changes(measured, changed(measured, deviation=50)) == []
        (found, *_) = comparison.changes(measured, changed(measured, deviation=1e-6 / deviation))
        assert found.worse
        assert found.metric == "deviation"

    def test_limits_hold_in_both_directions(self, measured):
        far, near = (
            changed(measured, deviation=factor / measured["deviation"].values.max()) for factor in (1e-3, 1e-6)
        )
        assert {(c.metric, c.worse) for c in comparison.changes(far, near)} == {("deviation", False)}
        assert {(c.metric, c.worse) for c in comparison.changes(near, far)} == {("deviation", True)}
        assert (
            comparison.changes(far, near, {"deviation": 1000})
            == comparison.changes(near, far, {"deviation": 1000})
            == []
        )
        assert comparison.changes(measured, changed(measured, state_bytes=0.4), {"state_bytes": 1})

    def test_a_number_that_is_gone_is_worse(self, measured):
        gone = comparison.changes(measured, changed(measured, test_error=math.nan))
        assert [c.worse for c in gone] == [True, True]
        back = comparison.changes(changed(measured, test_error=math.nan), measured)
        assert [c.worse for c in back] == [False, False]
        assert not comparison.changes(measured, changed(measured, share_of_limit=math.nan))  # for any previous value

    def test_a_number_that_is_gone_is_worse_without_times_too(self, measured):
        untimed = changed(measured, timed_runs=0.0)
        (found, *_) = comparison.changes(untimed, changed(untimed, deviation=math.nan))
        assert found.worse
        times = {name: math.nan for name, m in ob.metrics().items() if m.unit in ("s", "1/s")}
        times["share_of_limit"] = math.nan
        for before, after in ((measured, changed(untimed, **times)), (changed(untimed, **times), measured)):
            assert comparison.changes(before, after, {"share_of_limit": 0.5}) == []

    def test_from_infinity(self, measured):
        (found, *_) = comparison.changes(changed(measured, test_error=math.inf), measured)
        assert not found.worse
        assert found.metric == "test_error"

    def test_a_cell_that_fails_is_worse(self, measured):
        after = measured.copy(deep=True)
        after["status"] = "cell", np.array(["failed", "ok"])
        (found,) = comparison.changes(measured, after)
        assert (found.metric, found.before, found.after, found.worse) == ("status", "ok", "failed", True)
        (found,) = comparison.changes(after, measured)
        assert not found.worse

    @pytest.mark.parametrize(
        ("was", "now", "found"),
        [("failed", "timeout", []), ("failed", "absent", []), ("absent", "failed", [True]), ("absent", "ok", [False])],
    )
    def test_only_a_measured_cell_is_better_than_one_that_failed(self, measured, was, now, found):
        before, after = measured.copy(deep=True), measured.copy(deep=True)
        before["status"], after["status"] = ("cell", np.array([was, "ok"])), ("cell", np.array([now, "ok"]))
        assert [c.worse for c in comparison.changes(before, after)] == found

    def test_a_metric_that_only_the_first_results_have_is_worse(self, measured):
        (found, *_) = comparison.changes(measured, measured.drop_vars("test_error"))
        assert (found.metric, found.worse) == ("test_error", True)
        assert comparison.changes(measured.drop_vars("test_error"), measured) == []

    def test_cells_of_one_alone(self, measured):
        lost, added = comparison.unmatched(measured, measured.isel(cell=[1]))
        assert (len(lost), added) == (1, [])
        assert lost[0].startswith(str(measured["method"].values[0]))

    def test_cells_of_one_method_are_named_by_seed_and_size(self):
        suite = Suite(["lms"], ["numpy"], ["regression"], rows=[20, 30], seeds=[0, 1])
        results = run(suite, isolate=False, progress=None)
        lost, added = comparison.unmatched(results.isel(cell=[0, 1, 2]), results.isel(cell=[0, 3]))
        assert [label.partition("regression")[2] for label in lost] == [", seed=1, n=20", ", seed=0, n=30"]
        assert [label.partition("regression")[2] for label in added] == [", seed=1, n=30"]

    def test_other_runs_are_reported(self, measured):
        after = measured.copy(deep=True)
        after.attrs["machine"] = json.dumps(json.loads(after.attrs["machine"]) | {"cpu": "another"})
        (line,) = comparison.differences(measured, after)
        assert "cpu was" in line
        assert "is another" in line

    def test_rows_that_have_changed_are_reported(self, measured):
        after = measured.copy(deep=True)
        assert all(len(text) == 16 for text in after["rows_hash"].values)
        after["rows_hash"].values[0] = "0123456789abcdef"
        stream, n = measured["stream"].values[0], measured.sizes["cell"]
        assert comparison.differences(measured, after) == [f"rows: those of {stream} have changed (1 of {n} cells)"]
        after["rows_hash"].values[:] = ""  # as in files of earlier versions
        assert comparison.differences(measured, after) == []

    def test_times_of_only_one_result_are_reported(self, measured):
        untimed = changed(measured, timed_runs=0.0)
        assert comparison.differences(untimed, untimed) == comparison.differences(measured, measured) == []
        for pair, which in (((measured, untimed), "before"), ((untimed, measured), "after")):
            assert comparison.differences(*pair) == [f"times: only those {which} were measured, and are not compared"]

    @pytest.mark.parametrize(
        ("tolerated", "stated"), [({"test_eror": 1}, "test_error"), ({"test_error": -1}, "want a relative change >= 0")]
    )
    def test_wrong_thresholds(self, measured, tolerated, stated):
        with pytest.raises(ValueError, match=stated):
            comparison.changes(measured, measured, tolerated)

    def test_nothing_in_common(self, measured):
        one, other = measured.isel(cell=[0]), measured.isel(cell=[1])
        with pytest.raises(ValueError, match="no cell in common: those that are most alike differ in method: "):
            comparison.changes(one, other)
        settings = json.loads(str(one["stream_settings"].values[0]))
        moved = one.assign_coords(
            key=("cell", ["another"]), stream_settings=("cell", [json.dumps({**settings, "n": 7, "path": "a.csv"})])
        )
        with pytest.raises(ValueError, match=r"differ in stream_n: \d+ and 7; stream_path: None and a.csv"):
            comparison.changes(one, moved)

    def test_a_change_between_infinities_is_seen(self, measured):
        up, down = (changed(measured, "rls", test_error=sign * math.inf) for sign in (1, -1))
        assert [c.worse for c in comparison.changes(down, up)] == [True]
        assert [c.worse for c in comparison.changes(up, down)] == [False]

    def test_metrics_without_a_declaration_are_named(self, measured, tmp_path):
        older = measured.assign(my_metric=("cell", np.ones(measured.sizes["cell"])))
        of = files(tmp_path, a=older, b=older.assign(my_metric=2 * older["my_metric"]), c=measured)
        note = "not compared: my_metric: no plugin that is loaded declares such a metric\n"
        assert call("compare", of["a"], of["b"]).output == note + "0 values got worse, 0 got better\n"
        assert comparison.undeclared(older, measured) == comparison.undeclared(measured, measured) == []

    def test_several_runs_in_one_file(self, measured):
        with pytest.raises(ValueError, match="several runs"):
            comparison.changes(measured, xr.concat([measured, measured], "cell"))

    def test_command(self, measured, tmp_path):
        slow = changed(measured, "lms", seconds_per_sample=3)
        of = files(tmp_path, a=measured, b=slow)
        same = call("compare", of["a"], of["a"])
        assert (same.exit_code, same.output) == (0, "0 values got worse, 0 got better\n")
        worse = call("compare", of["a"], of["b"])
        assert worse.exit_code == 1
        row = next(line.split() for line in worse.output.splitlines() if "lms" in line)
        assert row[:4] == ["lms", "numpy", "drift", "seconds_per_sample"]
        assert row[-2:] == ["+200.0%", "worse"]
        better = call("compare", of["b"], of["a"])
        assert better.exit_code == 0
        assert "lms" not in better.output
        assert "-66.7% better" in call("compare", of["b"], of["a"], "--all").output
        assert call("compare", of["a"], of["b"], "--tolerate", "seconds_per_sample=3").exit_code == 0
        twice = ("--tolerate", "seconds_per_sample=3", "--tolerate", "seconds_per_sample=2")
        assert "seconds_per_sample is given twice" in call("compare", of["a"], of["b"], *twice).output
        assert call("compare", of["a"], of["b"], "--tolerate", "seconds_per_sample").exit_code == 2
        assert call("compare", of["a"], tmp_path / "none.nc").exit_code == 2


def test_changes_name_the_conditions_in_which_cells_differ():
    before, after = (table([created(dtype=t, test_error=e) for t in ("float64", "float32")]) for e in (1.0, 2.0))
    console = Console(file=io.StringIO(), width=200)
    console.print(changes_table(comparison.changes(before, after), before))
    assert [line.split()[3] for line in console.file.getvalue().splitlines() if " test_error " in line] == [
        "float64",
        "float32",
    ]


def test_changes_name_the_seed_and_the_settings_in_which_cells_differ():
    methods = [{"name": "lms", "settings": {"step_size": size}} for size in (0.01, 0.02)]
    suite = Suite(methods=methods, backends=["numpy"], streams=["drift"], rows=[40], seeds=[0, 1])
    before = run(suite, isolate=False)
    after = before.copy(deep=True)
    after["a_priori_error"][:] *= 2
    changes = [c for c in comparison.changes(before, after) if c.metric == "a_priori_error"]
    console = Console(width=200, file=io.StringIO())
    console.print(changes_table(changes, before))
    text = console.file.getvalue()
    for label in ("lms step_size=0.01", "lms step_size=0.02", "drift seed=0", "drift seed=1"):
        assert text.count(label) == 2
