"""A run that failed or was killed continues with the cells that are left."""

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from orfit_bench.errors import UnavailableError
from orfit_bench.report import page as report_page
from orfit_bench.spec import Experiment
from orfit_bench_papers import EXPERIMENTS, data, running
from orfit_bench_papers.procedure import Procedure, about
from orfit_bench_papers.setups import find, make_setup

pytestmark = pytest.mark.integration


class Counted:
    """An experiment of six cells that counts measurements, and fails at a given one."""

    def __init__(self):
        self.measured, self.breaks = [], None

    def measure(self, setup, cell):
        if cell == self.breaks:
            raise ValueError("it broke")
        self.measured.append(cell)
        warnings.warn("half of the digits are gone", UserWarning, stacklevel=1)
        value = 10.0 * cell["a"] + cell["run"] / 3
        return xr.Dataset({"value": ("x", np.array([value, np.nan]), about("1", "a value"))}, {"x": [0, 1]})

    def procedure(self):
        axes = lambda setup: {"a": [1, 2], "run": list(range(setup["runs"]))}  # noqa: E731
        sections = lambda results, setup: []  # noqa: E731
        experiment = Experiment("counted", "nowhere", "six cells", 1, "no.such:runner", ("digits",))
        return Procedure(experiment, {"runs": 3}, axes, self.measure, sections)


@pytest.fixture
def counted(monkeypatch):
    """The counted experiment, declared like the others and in a module of its name."""
    created = Counted()
    procedure = created.procedure()
    monkeypatch.setitem(EXPERIMENTS, "counted", procedure.experiment)
    monkeypatch.setitem(sys.modules, "orfit_bench_papers.counted", SimpleNamespace(PROCEDURE=procedure))
    return created


def run_counted(folder, **more):
    experiment = find("counted")
    return running.run(experiment, make_setup(experiment), folder, isolate=False, **more)


def test_a_run_that_broke_goes_on_with_the_cells_that_are_left(counted, tmp_path):
    complete = run_counted(tmp_path / "whole").file
    counted.measured.clear()
    counted.breaks = {"a": 2, "run": 0}
    with pytest.raises(RuntimeError, match="counted failed at 2, 0: ValueError: it broke"):
        run_counted(tmp_path / "cut")
    counted.breaks = None
    reported = []
    cut = run_counted(tmp_path / "cut", progress=lambda *stated: reported.append(stated)).file
    assert len(counted.measured) == 6, "each cell once"
    assert reported[0] == (3, 6, "")
    assert reported[-1] == (6, 6, "2, 2")
    xr.testing.assert_identical(xr.load_dataset(complete), xr.load_dataset(cut))
    np.testing.assert_array_equal(xr.load_dataset(cut).value.sel(a=2, run=1).values, [20 + 1 / 3, np.nan])


def test_a_run_of_other_images_takes_nothing_over(counted, tmp_path, monkeypatch):
    images = tmp_path / "images"
    monkeypatch.setattr(data, "files", lambda name: [images])
    images.write_bytes(b"these")
    counted.breaks = {"a": 2, "run": 0}
    with pytest.raises(RuntimeError, match="it broke"):
        run_counted(tmp_path)
    images.write_bytes(b"those")
    counted.breaks = None
    run_counted(tmp_path)
    assert len(counted.measured) == 3 + 6


def test_images_that_change_during_a_run_end_it(counted, tmp_path, monkeypatch):
    images = tmp_path / "images"
    images.write_bytes(b"these")
    monkeypatch.setattr(data, "files", lambda name: [images])

    def change(done, total, now):
        if done == 2 and images.read_bytes() == b"these":
            images.write_bytes(b"those")

    with pytest.raises(RuntimeError, match="the files of digits changed while it ran"):
        run_counted(tmp_path, progress=change)
    reported = []
    run_counted(tmp_path, progress=lambda *stated: reported.append(stated))
    assert reported[0] == (4, 6, ""), "those of the images as they are now"


def test_fresh_forgets_the_finished_cells(counted, tmp_path):
    counted.breaks = {"a": 2, "run": 0}
    with pytest.raises(RuntimeError):
        run_counted(tmp_path)
    counted.breaks = None
    run_counted(tmp_path, fresh=True)
    assert len(counted.measured) == 3 + 6


def test_what_was_warned_of_stands_on_the_page(counted, tmp_path):
    assert "UserWarning: half of the digits are gone" in run_counted(tmp_path).page.read_text(encoding="utf-8")


def test_a_run_of_other_numbers_takes_nothing_over(counted, tmp_path):
    counted.breaks = {"a": 2, "run": 0}
    with pytest.raises(RuntimeError):
        run_counted(tmp_path)
    counted.breaks = None
    experiment = find("counted")
    running.run(experiment, make_setup(experiment, runs=1), tmp_path, isolate=False)
    assert len(counted.measured) == 3 + 2


@pytest.mark.parametrize("module", ["matplotlib", "jinja2"])
def test_what_pages_need_is_asked_for_before_the_work(module, counted, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    report_page.environment.cache_clear()
    with pytest.raises(UnavailableError, match=r"pip install 'orfit-bench\[plots\]'"):
        run_counted(tmp_path / "made")
    assert not counted.measured
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_killed_run_ends_in_the_identical_file(tmp_path):
    environment = {**os.environ, "ORFIT_BENCH_PLUGINS": "catalogue,numpy,papers"}
    command = [sys.executable, "-c", "from orfit_bench.cli import main; main()", "reproduce", "survey-figure-2"]
    command += ["--runs", "4", "--output"]
    journal = tmp_path / "cut" / "survey-figure-2.nc.journal"

    def call(folder):
        return subprocess.run(
            [*command, folder], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
        )

    with subprocess.Popen([*command, "cut"], cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL) as process:
        end = time.monotonic() + 60
        while len(list(journal.glob("*.json"))) < 2:
            assert time.monotonic() < end, "waited in vain"
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    kept = len(list(journal.glob("*.json")))
    assert 2 <= kept < 8
    resumed, complete = call("cut"), call("whole")
    assert resumed.returncode == complete.returncode == 0, resumed.stderr + complete.stderr
    assert f"resuming: {kept} of 8 cells are already finished" in resumed.stderr
    assert not journal.exists()
    first, second = (xr.load_dataset(tmp_path / folder / "survey-figure-2.nc") for folder in ("cut", "whole"))
    assert first.identical(second)
    for name in first.data_vars:
        assert first[name].values.tobytes() == second[name].values.tobytes()
    pages = [(tmp_path / folder / "survey-figure-2.html").read_bytes() for folder in ("cut", "whole")]
    assert pages[0] == pages[1]


SCRIPT = """
import json, os, signal, sys
from pathlib import Path
from orfit_bench_papers import running

name, given, folder, cut = sys.argv[1], json.loads(sys.argv[2]), Path(sys.argv[3]), sys.argv[4] == "cut"

def progress(done, total, now):
    if cut and done == max(1, total // 2):
        os.kill(os.getpid(), signal.SIGKILL)

procedure = running.find(name)
running.run(procedure, running.make_setup(procedure, **given), folder, isolate=False, progress=progress)
"""


@pytest.mark.slow  # two minutes for all
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_experiment_killed_half_way_ends_in_the_same_numbers(tmp_path, name, numbers):
    environment = {**os.environ, "ORFIT_BENCH_PLUGINS": "catalogue,numpy,papers"}

    def call(folder, how):
        command = [sys.executable, "-c", SCRIPT, name, json.dumps(numbers[name]), str(tmp_path / folder), how]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert call("cut", "cut").returncode == -signal.SIGKILL
    assert list((tmp_path / "cut" / f"{name}.nc.journal").glob("*.json"))
    assert not (tmp_path / "cut" / f"{name}.nc").exists()
    for folder in ("cut", "whole"):
        done = call(folder, "whole")
        assert done.returncode == 0, done.stderr
    first, second = (xr.load_dataset(tmp_path / folder / f"{name}.nc") for folder in ("cut", "whole"))
    assert set(first.variables) == set(second.variables)
    for variable in first.variables:
        if first[variable].attrs.get("units") != "s":  # wall times differ between any two runs
            assert first[variable].values.tobytes() == second[variable].values.tobytes(), variable
