"""What is done with results that are there: shown, compared, merged, exported."""

import csv
import gzip
import json
import math
import re
from pathlib import Path

import numpy as np
import pandas
import pytest
import xarray as xr
from click.testing import CliRunner

from orfit_bench.bench import Suite, collection, comparison, load, results, run
from orfit_bench.cli import main
from orfit_bench.plugins.registry import registry


@pytest.fixture(scope="module")
def measured():
    """Two methods on one stream."""
    return run(Suite(methods=["lms", "rls"], backends=["numpy"], streams=["drift"], rows=[40]), isolate=False)


def changed(before, method=None, **numbers):
    """The results with other numbers: for the metric a factor, or a value where it is no number yet."""
    after = before.copy(deep=True)
    at = after["method"].values == method if method else np.ones(after.sizes["cell"], bool)
    for name, factor in numbers.items():
        after[name].values[at] *= factor
    return after


def files(tmp_path, **named):
    for name, dataset in named.items():
        results.write(dataset, tmp_path / f"{name}.nc")
    return {name: str(tmp_path / f"{name}.nc") for name in named}


def call(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


class TestCompare:
    def test_nothing_changed(self, measured):
        assert comparison.changes(measured, measured.copy(deep=True)) == []

    @pytest.mark.parametrize(
        ("metric", "factor", "worse"),
        [
            ("seconds_per_sample", 1.5, True),
            ("seconds_per_sample", 0.5, False),
            ("host_memory", 1.3, True),
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

    def test_a_number_that_is_gone_is_worse(self, measured):
        gone = comparison.changes(measured, changed(measured, test_error=math.nan))
        assert [c.worse for c in gone] == [True, True]
        back = comparison.changes(changed(measured, test_error=math.nan), measured)
        assert [c.worse for c in back] == [False, False]
        assert not comparison.changes(measured, changed(measured, share_of_limit=math.nan))  # whatever it was

    def test_a_cell_that_fails_is_worse(self, measured):
        after = measured.copy(deep=True)
        after["status"] = "cell", np.array(["failed", "ok"])
        (found,) = comparison.changes(measured, after)
        assert (found.metric, found.before, found.after, found.worse) == ("status", "ok", "failed", True)
        (found,) = comparison.changes(after, measured)
        assert not found.worse

    def test_cells_of_one_alone(self, measured):
        lost, added = comparison.unmatched(measured, measured.isel(cell=[1]))
        assert (len(lost), added) == (1, [])
        assert lost[0].startswith(str(measured["method"].values[0]))

    def test_other_runs_are_said(self, measured):
        after = measured.copy(deep=True)
        after.attrs["machine"] = json.dumps(json.loads(after.attrs["machine"]) | {"cpu": "another"})
        (line,) = comparison.differences(measured, after)
        assert "cpu was" in line
        assert "is another" in line

    @pytest.mark.parametrize(
        ("tolerated", "said"), [({"test_eror": 1}, "test_error"), ({"test_error": -1}, "want a relative change >= 0")]
    )
    def test_wrong_thresholds(self, measured, tolerated, said):
        with pytest.raises(ValueError, match=said):
            comparison.changes(measured, measured, tolerated)

    def test_nothing_in_common(self, measured):
        with pytest.raises(ValueError, match="no cell in common"):
            comparison.changes(measured.isel(cell=[0]), measured.isel(cell=[1]))

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
        assert call("compare", of["a"], of["b"], "--tolerate", "seconds_per_sample").exit_code == 2
        assert call("compare", of["a"], tmp_path / "none.nc").exit_code == 2


class TestMerge:
    def elsewhere(self, measured, **machine):
        there = measured.copy(deep=True)
        there.attrs["machine"] = json.dumps(json.loads(there.attrs["machine"]) | machine)
        return there

    def test_machines_stand_side_by_side(self, measured):
        table = collection.merge([measured, self.elsewhere(measured, cpu="a longer name of a processor" * 3)])
        assert table.sizes["cell"] == 4
        assert len(set(table["run"].values)) == 2
        assert {json.loads(m)["cpu"] for m in table["machine"].values} >= {"a longer name of a processor" * 3}

    @pytest.mark.parametrize(
        ("name", "other"),
        [("machine", {"host": "another of the same kind"}), ("commit", {"plugins": {"my-plugin": {"id": "another"}}})],
    )
    def test_what_is_alike_but_not_the_same_stays(self, measured, name, other):
        there = measured.copy(deep=True)
        there.attrs |= {name: json.dumps(json.loads(there.attrs[name]) | other), "date": "2999-01-01T00:00:00+00:00"}
        assert collection.merge([measured, there]).sizes["cell"] == 4

    def test_the_later_of_one_machine_stays(self, measured):
        later = changed(measured, seconds=2)
        later.attrs["date"] = "2999-01-01T00:00:00+00:00"
        for order in ([measured, later], [later, measured]):
            table = collection.merge(order)
            assert table.sizes["cell"] == 2
            assert set(table["date"].values) == {"2999-01-01T00:00:00+00:00"}
            np.testing.assert_array_equal(np.sort(table["seconds"]), np.sort(later["seconds"]))

    def test_merged_again_and_of_other_lengths(self, measured, tmp_path):
        short = self.elsewhere(measured, cpu="b").isel(point=slice(2))
        table = collection.merge([collection.merge([measured]), short])
        results.write(table, tmp_path / "m.nc")
        table = load(tmp_path / "m.nc")
        assert table.sizes["cell"] == 4
        assert table.sizes["point"] == measured.sizes["point"]
        assert np.isnan(table["rows_learned"].values[-1, 2:]).all()
        assert "4 ok" in call("show", tmp_path / "m.nc").output

    def test_units_and_meanings_stay(self, measured):
        less = self.elsewhere(measured, cpu="b").drop_vars("regret")
        for parts in ([measured, less], [less, measured]):
            table = collection.merge(parts)
            for name in measured.variables:
                assert table[name].attrs == measured[name].attrs, name

    def test_every_table_tells_runs_apart(self, measured, tmp_path):
        of = files(tmp_path, m=collection.merge([measured, self.elsewhere(measured, cpu="another CPU")]))
        told = call("show", of["m"]).output
        rows = [line.split() for line in told.splitlines() if line.startswith((" lms ", " rls "))]
        assert sorted(row[3:5] for row in rows) == [["run", "1"], ["run", "1"], ["run", "2"], ["run", "2"]]
        assert "another CPU" in told.splitlines()[0]
        assert sum(line.startswith(("run 1: ", "run 2: another CPU")) for line in told.splitlines()) == 2
        assert call("export", of["m"], tmp_path / "m.md").exit_code == 0
        head, _, *rows = [line.strip("| ").split(" | ") for line in (tmp_path / "m.md").read_text().splitlines()]
        told = [(row[head.index("method")], row[head.index("run")], row[head.index("processor")]) for row in rows]
        assert len(set(told)) == 4
        assert ("lms", "run 2", "another CPU") in told

    def test_a_merged_cell_is_compared_with_where_it_comes_from(self, measured):
        one, other = measured.isel(cell=[0]), self.elsewhere(measured.isel(cell=[1]), cpu="another CPU")
        both = collection.merge([one, other])
        (line,) = comparison.differences(both, measured)
        assert line.startswith("machine: cpu was another CPU, is ")
        assert line.endswith(" (1 of 2 cells)")
        assert comparison.differences(both.isel(cell=[0]), measured) == []

    def test_nothing(self):
        with pytest.raises(ValueError, match="no results"):
            collection.merge([])

    def test_command(self, measured, tmp_path):
        of = files(tmp_path, a=measured, b=self.elsewhere(measured, cpu="b"))
        told = call("merge", of["a"], of["b"], "--output", tmp_path / "all.nc")
        assert told.exit_code == 0, told.output
        assert load(tmp_path / "all.nc").sizes["cell"] == 4
        assert call("merge", of["a"], "--output", tmp_path).exit_code == 2


class TestExport:
    def test_csv_holds_every_number(self, measured, tmp_path):
        collection.export(measured, tmp_path / "r.csv")
        rows = list(csv.DictReader((tmp_path / "r.csv").read_text().splitlines()))
        assert [row["method"] for row in rows] == list(measured["method"].values)
        assert [float(row["test_error"]) for row in rows] == measured["test_error"].values.tolist()
        assert set(registry().metrics) <= set(rows[0])

    def test_markdown_is_a_table(self, measured, tmp_path):
        collection.export(measured, tmp_path / "r.md")
        head, rule, *rows = [line.strip("| ").split(" | ") for line in (tmp_path / "r.md").read_text().splitlines()]
        assert len(rows) == 2
        assert {len(head), len(rule), *map(len, rows)} == {len(head)}
        assert "device_memory" not in head

    def test_parquet(self, measured, tmp_path):
        pytest.importorskip("pyarrow")
        collection.export(measured, tmp_path / "r.parquet")
        assert list(pandas.read_parquet(tmp_path / "r.parquet")["method"]) == list(measured["method"].values)

    def test_another_ending(self, measured, tmp_path):
        of = files(tmp_path, a=measured)
        told = call("export", of["a"], tmp_path / "r.xls")
        assert told.exit_code == 2
        assert ".csv, .parquet, .md" in told.output
        assert call("export", of["a"], tmp_path / "r.csv").exit_code == 0


def test_show_prints_what_the_run_did(measured, tmp_path):
    of = files(tmp_path, a=measured)
    told = call("show", of["a"])
    assert told.exit_code == 0, told.output
    assert told.output.endswith(f"2 ok. Results: {of['a']}\n")
    for file, said in ((tmp_path / "none.nc", "no such file"), (tmp_path, "this is a folder, want a file of results")):
        told = call("show", file)
        assert (told.exit_code, told.output) == (2, f"Error: {file}: {said}\n")


def test_a_file_with_the_name_of_an_earlier_version_is_read(measured, tmp_path):
    results.write(measured.rename({new: old for old, new in results.RENAMED.items()}), tmp_path / "old.nc")
    xr.testing.assert_identical(load(tmp_path / "old.nc"), measured)


def test_a_file_of_an_earlier_version_is_read_with_its_numbers(tmp_path):
    packed = Path(__file__).with_name("data") / "results-old-metric-names.nc.gz"
    (tmp_path / "old.nc").write_bytes(gzip.decompress(packed.read_bytes()))
    old = load(tmp_path / "old.nc")
    assert old["method"].values.tolist() == ["rls", "oja", "oja"]
    assert old["inverse_gram_error"].values[0] == pytest.approx(4.2658e-16, rel=1e-4)
    assert "deviation_P" not in old
    assert set(registry().metrics) <= set(old)
    again = run(Suite(["rls", "oja"], ["numpy"], ["regression", "digits_pca"], rows=[40]), isolate=False)
    assert comparison.unmatched(old, again) == ([], [])
    np.testing.assert_allclose(again["test_error"], old["test_error"], rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda r: r.drop_vars("status"), "a damaged file of orfit_bench results 2: status missing; run"),
        (lambda r: r.drop_vars(["d", "test_error"]), "d, test_error missing"),
        (lambda r: r.assign_attrs(machine="a CPU"), "machine is not JSON (Expecting value: line 1 column 1"),
        (lambda r: r.assign_attrs(machine="{}"), "machine is not a table of cpu, cores, memory, platform: '{}'"),
        (lambda r: r.assign_attrs(commit="[]"), "commit is not a table: '[]'"),
        (lambda r: r.assign_coords(settings=("cell", ["{}", "{"])), "settings is not JSON"),
        (lambda r: r.isel(cell=[]), "the results have no cells"),
        (lambda r: r.isel(cell=0), "select cells with a list, as in isel(cell=[0])"),
        (lambda r: r.isel(task=0), "task_error has dimensions ('cell', 'task_after'), want ('cell',"),
        (lambda r: collection.merge([r]).drop_vars("machine"), "machine missing"),
    ],
)
def test_what_a_file_lacks_is_said_with_its_name(measured, tmp_path, change, said):
    results.write(change(measured), tmp_path / "wrong.nc")
    with pytest.raises(ValueError, match=re.escape(said)) as caught:
        load(tmp_path / "wrong.nc")
    assert str(caught.value).startswith(f"{tmp_path / 'wrong.nc'}: ")


def test_a_cell_of_results_can_be_read_again(measured, tmp_path):
    of = files(tmp_path, one=measured.isel(cell=[0]))
    assert call("show", of["one"]).exit_code == 0


@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize("tries", [5, pytest.param(60, marks=pytest.mark.slow)])
def test_damaged_files_are_a_users_mistake(measured, tmp_path, tries):
    of = files(tmp_path, a=measured)
    whole, rng = (tmp_path / "a.nc").read_bytes(), np.random.default_rng(0)
    for _ in range(tries):
        damaged = bytearray(whole)
        for place in rng.integers(len(whole), size=20):
            damaged[place] = rng.integers(256)
        (tmp_path / "b.nc").write_bytes(damaged)
        told = call("show", tmp_path / "b.nc")
        assert told.exit_code in (0, 2), told.output  # 0 where no number of the table is hit
    part = measured.copy()
    del part.attrs["machine"]
    of |= files(tmp_path, c=part)
    for command in (["show", of["c"]], ["compare", of["a"], of["c"]], ["merge", of["a"], of["c"], tmp_path / "d.nc"]):
        told = call(*command)
        assert told.exit_code == 2, told.output
        assert "machine missing" in told.output
