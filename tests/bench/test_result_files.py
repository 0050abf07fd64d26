"""Files of results: shown, from earlier versions, damaged."""

import errno
import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner
from helpers.results import call, files
from helpers.suites import suite

from orfit_bench.bench import Suite, collection, comparison, load, results, run
from orfit_bench.bench.results_checks import RENAMED
from orfit_bench.bench.variables import KNOWN
from orfit_bench.cli import main
from orfit_bench.jobs import system
from orfit_bench.plugins.registry import registry
from orfit_bench.spec.result_names import RESULT_NAMES


def test_show_prints_the_tables_of_the_run(measured, tmp_path):
    of = files(tmp_path, a=measured)
    reported = call("show", of["a"])
    assert reported.exit_code == 0, reported.output
    assert reported.output.endswith(f"2 ok. Results: {of['a']}\n")
    for file, stated in (
        (tmp_path / "none.nc", "no such file"),
        (tmp_path, "this is a folder, want a file of results"),
    ):
        reported = call("show", file)
        assert (reported.exit_code, reported.output) == (2, f"Error: {file}: {stated}\n")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_show_reads_no_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe.nc")
    reported = call("show", tmp_path / "pipe.nc")
    assert reported.exit_code == 2
    assert reported.stderr == f"Error: {tmp_path / 'pipe.nc'}: not a regular file (a device, pipe or similar)\n"


@pytest.mark.parametrize("variable", ["method", "backend", "stream"])
def test_show_passes_no_escapes_on_to_a_terminal(variable, measured, tmp_path):
    hostile = measured.copy(deep=True)
    hostile[variable] = hostile[variable].dims, np.full(hostile[variable].shape, "\x1b[31mred\x07\x9b2J")
    results.write(hostile, tmp_path / "r.nc")
    shown = CliRunner().invoke(main, ["show", str(tmp_path / "r.nc")], color=True).output  # like on a terminal
    assert "red" in shown
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", shown)


def test_names_that_metrics_may_not_have_are_all_that_results_have(measured):
    merged = collection.merge([measured, measured])
    names = {*measured.variables, *measured.dims, *merged.variables, *KNOWN, *RENAMED, "processor"}
    assert names - set(registry().metrics) == RESULT_NAMES


def test_metric_with_a_name_that_is_refused_today_still_loads(measured, tmp_path):
    earlier = measured.assign({"metric_seconds": ("cell", [1.0, 2.0])})
    results.write(earlier, tmp_path / "old.nc")
    xr.testing.assert_identical(load(tmp_path / "old.nc"), earlier)


def test_file_with_the_name_of_an_earlier_version_is_read(measured, tmp_path):
    results.write(measured.rename({new: old for old, new in RENAMED.items()}), tmp_path / "old.nc")
    xr.testing.assert_identical(load(tmp_path / "old.nc"), measured)


def test_numbers_of_a_file_of_an_earlier_version_are_read(tmp_path):
    packed = Path(__file__).with_name("data") / "results-old-metric-names.nc.gz"
    (tmp_path / "old.nc").write_bytes(gzip.decompress(packed.read_bytes()))
    old = load(tmp_path / "old.nc")
    assert old["method"].values.tolist() == ["rls", "oja", "oja"]
    assert old["inverse_gram_error"].values[0] == pytest.approx(4.2658e-16, rel=1e-4)
    assert "deviation_P" not in old
    assert old["rows_hash"].values.tolist() == [""] * 3
    assert set(registry().metrics) <= set(old)
    again = run(Suite(["rls", "oja"], ["numpy"], ["regression", "digits_pca"], rows=[40]), isolate=False)
    assert comparison.unmatched(old, again) == ([], [])
    np.testing.assert_allclose(again["test_error"], old["test_error"], rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "stated"),
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
def test_missing_variable_of_a_file_is_named(measured, tmp_path, change, stated):
    results.write(change(measured), tmp_path / "wrong.nc")
    with pytest.raises(ValueError, match=re.escape(stated)) as caught:
        load(tmp_path / "wrong.nc")
    assert str(caught.value).startswith(f"{tmp_path / 'wrong.nc'}: ")


def test_cell_of_results_is_restored(measured, tmp_path):
    of = files(tmp_path, one=measured.isel(cell=[0]))
    assert call("show", of["one"]).exit_code == 0


@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize("tries", [5, pytest.param(60, marks=pytest.mark.slow)])
def test_damaged_file_is_a_usage_error(measured, tmp_path, tries):
    of = files(tmp_path, a=measured)
    complete, rng = (tmp_path / "a.nc").read_bytes(), np.random.default_rng(0)
    for _ in range(tries):
        damaged = bytearray(complete)
        for place in rng.integers(len(complete), size=20):
            damaged[place] = rng.integers(256)
        (tmp_path / "b.nc").write_bytes(damaged)
        reported = call("show", tmp_path / "b.nc")
        assert reported.exit_code in (0, 2), reported.output  # 0 if no number of the table is hit
    part = measured.copy()
    del part.attrs["machine"]
    of |= files(tmp_path, c=part)
    for command in (["show", of["c"]], ["compare", of["a"], of["c"]], ["merge", of["a"], of["c"], tmp_path / "d.nc"]):
        reported = call(*command)
        assert reported.exit_code == 2, reported.output
        assert "machine missing" in reported.output


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("digests") / "r.nc"
    run(suite("lms"), path, isolate=False)
    return path


class TestIntactFiles:
    """Files that cannot be read but are not damaged."""

    def test_a_lack_of_memory(self, written, tmp_path, monkeypatch):
        def allocate(*_, **__):
            raise MemoryError

        (tmp_path / "r.nc").write_bytes(written.read_bytes()[:-1] + b"x")
        monkeypatch.setattr(xr, "load_dataset", allocate)
        with pytest.raises(MemoryError, match=re.escape(f"{written}: there is not enough memory")):
            load(written)
        checked = call("verify", written)
        assert (checked.exit_code, checked.stdout) == (2, "")
        assert checked.stderr == f"Error: {written}: there is not enough memory to read this file\n"
        with pytest.raises(ValueError, match=r"r\.nc: not a netCDF file, or damaged"):
            load(tmp_path / "r.nc")

    def test_a_lack_of_permission(self, written, monkeypatch):
        def refuse(path):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))

        monkeypatch.setattr(system, "read", refuse)
        for command in ("show", "verify"):
            reported = call(command, written)
            assert reported.exit_code == 2
            assert reported.stderr == f"Error: {written}: the results cannot be read (Permission denied)\n"


class TestDigests:
    def test_every_flipped_bit_is_noticed(self, written, tmp_path):
        complete, want = written.read_bytes(), load(written)
        places = np.random.default_rng(0).integers(0, len(complete), 6)
        for place in places:
            changed = bytes([complete[place] ^ (1 << int(place % 8))])
            (tmp_path / "r.nc").write_bytes(complete[:place] + changed + complete[place + 1 :])
            with pytest.raises(ValueError, match=re.escape(str(tmp_path / "r.nc"))):
                load(tmp_path / "r.nc")
        assert load(written).identical(want)

    def test_a_changed_number_is_named(self, written, tmp_path):
        seconds = load(written)["seconds"].values.tobytes()
        complete = written.read_bytes()
        assert complete.count(seconds) == 1
        (tmp_path / "r.nc").write_bytes(complete.replace(seconds, bytes([seconds[0] ^ 1]) + seconds[1:]))
        with pytest.raises(ValueError, match="the digest of the array 'seconds' does not fit"):
            load(tmp_path / "r.nc")

    def test_results_without_digests_still_load(self, written, tmp_path):
        results = load(written)
        results.to_netcdf(tmp_path / "r.nc", engine="h5netcdf")
        assert load(tmp_path / "r.nc").identical(results)

    def test_cells_that_were_selected_are_written_from_what_load_returns(self, written, tmp_path):
        load(written).isel(cell=[0]).to_netcdf(tmp_path / "r.nc")
        assert load(tmp_path / "r.nc").sizes["cell"] == 1
        xr.open_dataset(written).isel(cell=[0]).to_netcdf(tmp_path / "r.nc")
        with pytest.raises(ValueError, match=r"digest .*; if a program has changed .*, read them by .*bench\.load"):
            load(tmp_path / "r.nc")


@pytest.mark.parametrize("lost", [1, 50, 103, 104])
def test_a_file_without_its_last_bytes_was_cut(lost, measured, tmp_path):
    path = tmp_path / "cut.nc"
    results.write(measured, path)
    path.write_bytes(path.read_bytes()[:-lost])
    message = "so it may have been cut" if lost == 104 else "it was cut: the digest at its end is incomplete"
    with pytest.raises(ValueError, match=message):
        load(path)
    results.write(measured, path)
    path.write_bytes(path.read_bytes() + lost * b"\n")
    with pytest.raises(ValueError, match="bytes were added after the digest at its end"):
        load(path)


@pytest.mark.integration
@pytest.mark.parametrize("kept", [0, 8, 9, 44, 3000, -1000])
def test_a_file_that_was_cut_is_refused_and_ends_no_process(kept, measured, tmp_path):
    path = tmp_path / "cut.nc"
    results.write(measured, path)
    path.write_bytes(path.read_bytes()[:kept])
    ended = subprocess.run([sys.executable, "-m", "orfit_bench", "show", path], capture_output=True, text=True)
    assert ended.returncode == 2, ended.stderr
    assert f"Error:{path}:not" in "".join(ended.stderr.split())  # long lines are wrapped


def test_results_of_an_experiment_are_named_as_such(tmp_path):
    attributes = {"format": "orfit_bench reproduction 1", "experiment": "survey-figure-2"}
    results.write(xr.Dataset({"error": ("run", np.ones(2))}, attrs=attributes), tmp_path / "r.nc")
    with pytest.raises(ValueError, match="results of the experiment survey-figure-2, want those of orfit-bench run: "):
        load(tmp_path / "r.nc")
