"""Merging and exporting of results."""

import csv
import json

import numpy as np
import pandas
import pytest
from helpers.results import call, changed, files
from helpers.suites import suite

from orfit_bench.bench import collection, comparison, load, results, run
from orfit_bench.bench.cell import make_record
from orfit_bench.bench.export import export
from orfit_bench.plugins.registry import registry


class TestMerge:
    def elsewhere(self, measured, **machine):
        there = measured.copy(deep=True)
        there.attrs["machine"] = json.dumps(json.loads(there.attrs["machine"]) | machine)
        return there

    def test_machines_are_kept_separate(self, measured):
        table = collection.merge([measured, self.elsewhere(measured, cpu="a longer name of a processor" * 3)])
        assert table.sizes["cell"] == 4
        assert len(set(table["run"].values)) == 2
        assert {json.loads(m)["cpu"] for m in table["machine"].values} >= {"a longer name of a processor" * 3}

    @pytest.mark.parametrize(
        ("name", "other"),
        [("machine", {"host": "another of the same kind"}), ("commit", {"plugins": {"my-plugin": {"id": "another"}}})],
    )
    def test_similar_cells_are_kept(self, measured, name, other):
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

    def test_times_are_not_replaced_by_a_later_run_without_them(self, measured):
        later = changed(measured, seconds=np.nan)
        later.attrs["date"] = "2999-01-01T00:00:00+00:00"
        for order in ([measured, later], [later, measured]):
            table = collection.merge(order)
            assert set(table["date"].values) == {measured.attrs["date"]}
            np.testing.assert_array_equal(np.sort(table["seconds"]), np.sort(measured["seconds"]))
        failed = changed(later, seconds=np.nan)
        failed["status"] = failed["status"].copy(data=np.full(2, "failed"))
        assert set(collection.merge([measured, failed])["status"].values) == {"failed"}

    def test_a_measured_cell_is_not_replaced_by_one_without_data(self, measured):
        absent = changed(measured, seconds=np.nan)
        absent["status"] = absent["status"].copy(data=np.full(2, "absent"))
        absent["rows_hash"] = absent["rows_hash"].copy(data=np.full(2, ""))
        absent.attrs["date"] = "2999-01-01T00:00:00+00:00"
        assert set(collection.merge([measured, absent])["status"].values) == {"ok"}
        failed = absent.assign_coords(status=("cell", ["failed", "crashed"]))
        assert set(collection.merge([measured, failed])["status"].values) == {"failed", "crashed"}

    def test_all_seeds_of_64_bits_are_exact(self, measured):
        seeds = [0, 2**53 + 1, 2**63, 2**64 - 1]
        table = run(suite(methods=["lms"], backends=["numpy"], seeds=seeds), isolate=False, timed=False)
        assert table["seed"].values.tolist() == seeds
        alone = run(suite(methods=["lms"], backends=["numpy"], seeds=[1]), isolate=False, timed=False)
        assert sorted(collection.merge([table, alone])["seed"].values.tolist()) == sorted([*seeds, 1])
        older = table.isel(cell=[0, 2]).assign_coords(seed=("cell", np.array([0.0, 2.0**63])))
        assert collection.merge([older])["seed"].values.tolist() == [0, 2**63]

    def test_merged_again_and_of_other_lengths(self, measured, tmp_path):
        short = self.elsewhere(measured, cpu="b").isel(point=slice(2))
        table = collection.merge([collection.merge([measured]), short])
        results.write(table, tmp_path / "m.nc")
        table = load(tmp_path / "m.nc")
        assert table.sizes["cell"] == 4
        assert table.sizes["point"] == measured.sizes["point"]
        assert np.isnan(table["rows_learned"].values[-1, 2:]).all()
        assert "4 ok" in call("show", tmp_path / "m.nc").output

    def test_integers_that_other_files_lack_are_not_numbers(self, measured, tmp_path):
        own = measured.assign(mine=("cell", np.arange(2)))
        results.write(own, tmp_path / "own.nc")
        results.write(
            collection.merge([self.elsewhere(measured, cpu="b"), load(tmp_path / "own.nc")]), tmp_path / "m.nc"
        )
        np.testing.assert_array_equal(load(tmp_path / "m.nc")["mine"].values, [np.nan, np.nan, 0, 1])

    def test_units_and_meanings_stay(self, measured):
        less = self.elsewhere(measured, cpu="b").drop_vars("regret")
        for parts in ([measured, less], [less, measured]):
            table = collection.merge(parts)
            for name in measured.variables:
                assert table[name].attrs == measured[name].attrs, name

    def test_tables_distinguish_runs(self, measured, tmp_path):
        of = files(tmp_path, m=collection.merge([measured, self.elsewhere(measured, cpu="another CPU")]))
        reported = call("show", of["m"]).output
        rows = [line.split() for line in reported.splitlines() if line.startswith((" lms ", " rls "))]
        assert sorted(row[3:5] for row in rows) == [["run", "1"], ["run", "1"], ["run", "2"], ["run", "2"]]
        assert "another CPU" in reported.splitlines()[0]
        assert sum(line.startswith(("run 1: ", "run 2: another CPU")) for line in reported.splitlines()) == 2
        assert call("export", of["m"], tmp_path / "m.md").exit_code == 0
        head, _, *rows = [line.strip("| ").split(" | ") for line in (tmp_path / "m.md").read_text().splitlines()]
        reported = [(row[head.index("method")], row[head.index("run")], row[head.index("processor")]) for row in rows]
        assert len(set(reported)) == 4
        assert ("lms", "run 2", "another CPU") in reported

    def test_merged_cell_is_compared_with_its_origin(self, measured):
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
        reported = call("merge", of["a"], of["b"], "--output", tmp_path / "all.nc")
        assert reported.exit_code == 0, reported.output
        assert load(tmp_path / "all.nc").sizes["cell"] == 4
        assert call("merge", of["a"], "--output", tmp_path).exit_code == 2
        reported = call("merge", of["a"], "--output", tmp_path / "all.csv")
        assert reported.exit_code == 2
        assert reported.stderr.startswith(f"Error: {tmp_path / 'all.csv'}: results are netCDF, want .nc")
        assert not (tmp_path / "all.csv").exists()


class TestExport:
    def test_csv_holds_every_number(self, measured, tmp_path):
        export(measured, tmp_path / "r.csv")
        rows = list(csv.DictReader((tmp_path / "r.csv").read_text().splitlines()))
        assert [row["method"] for row in rows] == list(measured["method"].values)
        assert [float(row["test_error"]) for row in rows] == measured["test_error"].values.tolist()
        assert set(registry().metrics) <= set(rows[0])

    def test_markdown_is_a_table(self, measured, tmp_path):
        export(measured, tmp_path / "r.md")
        head, rule, *rows = [line.strip("| ").split(" | ") for line in (tmp_path / "r.md").read_text().splitlines()]
        assert len(rows) == 2
        assert {len(head), len(rule), *map(len, rows)} == {len(head)}
        assert "device_memory" not in head

    def test_markdown_keeps_a_cell_in_its_row(self, measured, tmp_path):
        names = np.array(["a\nb|c<i>\\", "d"])
        measured = measured.assign(forgetting=("cell", [np.nan, 1.0]))
        export(measured.assign_coords(backend=("cell", names)), tmp_path / "r.md")
        lines = (tmp_path / "r.md").read_text().splitlines()
        assert len(lines) == 4
        assert "| a<br>b\\|c\\<i>\\\\ |" in lines[2]
        assert "| n/a |" in lines[2]
        assert "nan" not in lines[2]

    def test_parquet(self, measured, tmp_path):
        pytest.importorskip("pyarrow")
        export(measured, tmp_path / "r.parquet")
        assert list(pandas.read_parquet(tmp_path / "r.parquet")["method"]) == list(measured["method"].values)

    def test_another_ending(self, measured, tmp_path):
        of = files(tmp_path, a=measured)
        reported = call("export", of["a"], tmp_path / "r.xls")
        assert reported.exit_code == 2
        assert ".csv, .parquet, .md" in reported.output
        assert call("export", of["a"], tmp_path / "r.csv").exit_code == 0


def test_cells_of_two_machines_are_two_runs():
    cells = [cell for cell, _ in suite("lms", "rls", seeds=list(range(5))).cells()]
    origin = {"versions": {}, "machine": {"cpu": "A", "cores": 1, "memory": 1, "platform": ""}, "commit": {}}
    other = origin | {"machine": origin["machine"] | {"cpu": "B"}}
    records = [
        make_record(cell, "ok", n=i, origin=o)
        for i, (cell, o) in enumerate(zip(cells, [origin, other] * 5, strict=True))
    ]
    found = collection.gather([*records, make_record(cells[0], "absent") | {"key": "x"}], {}, {})
    assert found["n"].values[:10].tolist() == list(range(10))
    assert [json.loads(text)["cpu"] for text in collection.origin(found, "machine")] == [*"ABABABABAB", "A"]
    assert collection.runs(found) == ["run 1", "run 2"] * 5 + ["run 1"]
    same = collection.gather(records[::2], {}, {})
    assert "run" not in same.coords
    assert json.loads(same.attrs["machine"])["cpu"] == "A"
