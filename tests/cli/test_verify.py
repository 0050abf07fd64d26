"""`orfit-bench verify`."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import xarray
from click.testing import CliRunner
from helpers.suites import suite

import orfit_bench as ob
from orfit_bench.bench import results, run
from orfit_bench.cli import main
from orfit_bench.jobs.journal import Journal


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("verify")
    learner = ob.create("lms", backend="numpy").partial_fit(np.eye(3), [1.0, 2.0, 3.0])
    learner.save(folder / "state.npz")
    (folder / "state.bytes").write_bytes(learner.to_bytes())
    run(suite("lms"), folder / "results.nc", isolate=False)
    Journal(folder / "other.nc", {}).write({"key": "a", "value": 1.5})
    return folder


def verify(*paths):
    return CliRunner().invoke(main, ["verify", *map(str, paths)])


def test_undamaged_files_are_described(files):
    done = verify(files / "state.npz", files / "state.bytes", files / "results.nc", files / "other.nc.journal")
    assert done.exit_code == 0, done.output
    described = [line.rpartition(": ")[2] for line in done.stdout.splitlines()]
    assert described == [
        "ok, a state of lms with 3 arrays",
        "ok, the bytes of a state of lms",
        "ok, results of 1 cell",
        "ok, an entry of a journal",
    ]


def test_results_of_an_experiment_are_named_and_foreign_ones_refused(files, tmp_path):
    dataset = xarray.Dataset({"error": ("run", [1.0])}, attrs={"experiment": "mine"})
    results.write(dataset, tmp_path / "mine.nc")
    results.write(dataset.drop_attrs(), tmp_path / "foreign.nc")
    assert verify(tmp_path / "mine.nc").stdout == f"{tmp_path / 'mine.nc'}: ok, results of the experiment mine\n"
    done = verify(tmp_path / "foreign.nc")
    assert (done.exit_code, done.stderr) == (1, f"{tmp_path / 'foreign.nc'}: not a file of orfit_bench results 2\n")


@pytest.mark.parametrize("name", ["state.npz", "state.bytes", "results.nc"])
def test_damaged_files_are_named(name, files, tmp_path):
    complete = (files / name).read_bytes()
    (tmp_path / name).write_bytes(complete[:-200] + bytes([complete[-200] ^ 1]) + complete[-199:])
    done = verify(files / "state.npz", tmp_path / name)
    assert done.exit_code == 1
    assert str(files / "state.npz") in done.stdout
    assert done.stderr.startswith(f"{tmp_path / name}: ")


def test_edited_entries_of_a_journal_are_named(files, tmp_path):
    journal = Journal(tmp_path / "r.nc", {})
    for key in "ab":
        journal.write({"key": key, "value": 1.5})
    entry = json.loads((journal.folder / "b.json").read_text())
    entry["record"]["value"] = 0.5
    (journal.folder / "b.json").write_text(json.dumps(entry))
    done = verify(journal.folder)
    assert done.exit_code == 1
    assert "b.json: " in done.stderr
    assert "a.json: ok" in done.stdout


def test_what_cannot_be_verified_is_refused(tmp_path):
    (tmp_path / "text").write_text("hello")
    assert verify(tmp_path / "text").exit_code == 1
    os.mkfifo(tmp_path / "pipe.nc")
    for path in (tmp_path, tmp_path / "none", tmp_path / "pipe.nc", Path("/dev/zero")):
        assert verify(path).exit_code == 2


def test_every_file_is_verified(tmp_path):
    (tmp_path / "empty.npz").touch()
    (tmp_path / "text.nc").write_text("hello")
    done = verify(tmp_path / "none", tmp_path / "empty.npz", tmp_path / "text.nc")
    assert done.exit_code == 2
    for name, stated in (("none", "no such file"), ("empty.npz", "the file is empty"), ("text.nc", "not a file of")):
        assert any(name in line and stated in line for line in done.stderr.splitlines())
