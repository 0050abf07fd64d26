"""The sources' experiments: each goes through in small, its page holds the source's numbers, a killed run goes on."""

import functools
import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner

from benchmarks import experiments as experiments_page
from orfit_bench import reproduce
from orfit_bench.bench.error import ERRORS
from orfit_bench.catalogue.streams import digits, rotated_digits
from orfit_bench.cli import main
from orfit_bench.errors import UnavailableError
from orfit_bench.report import page as report_page
from orfit_bench.reproduce import (
    EXPERIMENTS,
    _krasulina,
    _tasks,
    data,
    forgetting,
    krasulina_distributed,
    krasulina_figure_1,
    krasulina_table_1,
    orfit_rotated_digits,
    page,
    sgd_rate,
    survey_figure_7,
    survey_figure_8,
)
from orfit_bench.reproduce.experiment import Experiment, about
from orfit_bench.spec import Data

SMALL = {
    "orfit-rotated-digits": {"runs": 2, "rows": 8, "memory": 3, "sample": 3},
    "orfit-unlimited": {"runs": 1, "rows": 12, "epochs": 4, "sample": 3},
    "krasulina-figure-1": {"runs": 2, "components": (5,), "points": 3},
    "krasulina-table-1": {"runs": 1, "components": (5,)},
    "krasulina-distributed": {"runs": 1, "components": (5,), "machines": 3, "rounds": 2},
    "survey-figure-1": {"runs": 1, "tasks": 13},
    "survey-figure-2": {"runs": 2, "steps": 12},
    "survey-figure-5": {"runs": 1, "betas": 9, "rows": 10},
    "survey-figure-7": {"runs": 3, "tasks": 3, "d": 2},
    "survey-figure-8": {},
    "forgetting": {"runs": 1, "rows": 12},
    "sgd-rate": {"runs": 2, "repeats": 2, "horizons": (20, 50)},
}
PRINTED = {
    "orfit-rotated-digits": ["ORFit-latest", "thesis, 5.1, Figure 5-1", "example 3"],
    "orfit-unlimited": ["almost zero", "1e-05", "thesis, Corollary 4"],
    "krasulina-figure-1": ["Krasulina paper, Figure 1", "as fast as Sanger", "70,000"],
    "krasulina-table-1": ["0.03 %", "20.48 %", "Krasulina paper, Table 1"],
    "krasulina-distributed": ["37.17 ± 0.01", "35.17 ± 0.00", "slip of a digit"],
    "survey-figure-1": ["survey, Theorem 5", "ORFit, memory 10"],
    "survey-figure-2": ["survey, Theorem 2", "survey, Theorem 3"],
    "survey-figure-5": ["9/5", "1.800000"],
    "survey-figure-7": ["survey, Theorem 7", "A_j"],
    "survey-figure-8": ["survey, the program (LMS)"],
    "forgetting": ["Theorems 5 and 6", "OWM"],
    "sgd-rate": ["slides, SGD convergence", "at most 1"],
}
"""What each page must hold of its source."""


def clear():
    """Forget what was made of other images."""
    for kept in (_krasulina.moment, _krasulina._chosen):
        kept.cache_clear()


@pytest.fixture(scope="module")
def small():
    """Real images, but few; few steps to choose from, few lines on the map."""
    images, labels = digits.raw()
    few = data.centred("digits")[:60]
    lines = dict(list(survey_figure_8.named().items())[:2])
    entries = {name: replace(e, steps=e.steps and (-2, -1)) for name, e in forgetting.ENTRIES.items()}
    clear()
    with pytest.MonkeyPatch.context() as patch:
        split = rotated_digits.split
        patch.setattr(rotated_digits, "split", lambda images, n, rng: split(images[: n + 12], n, rng))
        patch.setattr(_krasulina, "images", lambda name: few)
        patch.setattr(
            _krasulina, "GRID", {name: (highest - 2, highest) for name, (_, highest) in _krasulina.GRID.items()}
        )
        patch.setattr(krasulina_table_1, "PAPERS_ROWS", 120)
        patch.setattr(survey_figure_8, "named", lambda: lines)
        patch.setattr(forgetting, "ENTRIES", entries)
        patch.setattr(sgd_rate, "even_or_odd", functools.cache(lambda: sgd_rate.hinge(images[:40], labels[:40])))
        yield
    clear()


@pytest.fixture(scope="module")
def made(small, tmp_path_factory):
    """Small runs in this process on the reference backend, each once, with the files they left."""

    @functools.cache
    def run(name):
        experiment, folder = EXPERIMENTS[name], tmp_path_factory.mktemp("made")
        setup = replace(reproduce.setup(experiment, **SMALL[name]), backend="numpy")
        return reproduce.run(experiment, setup, folder, isolate=False)

    return run


def test_every_experiment_is_tried():
    assert SMALL.keys() == PRINTED.keys() == EXPERIMENTS.keys()


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_goes_through_and_its_page_has_the_sources_numbers(name, made):
    run = made(name)
    text = run.page.read_text(encoding="utf-8")
    for said in [name, "Beside the source", EXPERIMENTS[name].source, *PRINTED[name]]:
        assert said in text
    assert "<svg" in text
    assert "https://" not in text, "a page needs no network"
    experiment = EXPERIMENTS[name]
    results = xr.load_dataset(run.file)
    for axis, places in experiment.axes(reproduce.setup(experiment, **SMALL[name])).items():
        assert results[axis].values.tolist() == places
    for variable in results.data_vars.values():
        assert variable.attrs["long_name"]
        assert np.isfinite(variable.values).any() or variable.name == "higher_loss", "of the paper's own images alone"
    assert sorted(path.name for path in run.file.parent.iterdir()) == [f"{name}.html", f"{name}.nc"], (
        "no journal is left"
    )


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_page_of_one_run_has_no_nan_in_it(name, made):
    results = made(name).results
    one = results.isel(run=[0]) if "run" in results.dims else results
    text = page.render(EXPERIMENTS[name], one, reproduce.setup(EXPERIMENTS[name], **{**SMALL[name], "runs": 1}))
    assert not re.findall(r"[^\n]*\bnan\b[^\n]*", re.sub("<svg.*?</svg>", "", text, flags=re.DOTALL))


def test_orfit_fits_all_rows_and_keeps_the_example(made):
    results = made("orfit-unlimited").results.one_pass.sel(learner="ORFit")
    assert float(results.sel(error="train").isel(row=-1).max()) < 1e-12
    assert float(results.sel(error="sample").isel(row=slice(2, None)).max()) < 1e-12
    assert float(results.sel(error="test").min()) > 0.1, "test images are others"


def test_a_pixel_scale_moves_nothing_from_a_start_at_zero_and_much_from_another(made):
    ends = made("orfit-rotated-digits").results.test_error.isel(row=-1)
    np.testing.assert_allclose(ends.sel(reading="bytes"), ends.sel(reading="as here"), rtol=1e-9)
    assert float(abs(ends.sel(reading="bytes, random start") / ends.sel(reading="random start") - 1).max()) > 0.5
    assert (ends.sel(reading="one set of rows", learner="Greedy").values.std()) == 0


def test_step_sizes_are_chosen_where_the_validation_rows_say(made):
    results = made("krasulina-table-1").results.isel(k=0)
    here = results.sel(reading="as here")
    assert float(here.eta0.sel(learner="Incremental")) == 0
    for name, (lowest, highest) in _krasulina.GRID.items():
        assert 10.0**lowest <= float(here.eta0.sel(learner=name)) <= 10.0**highest
    assert np.isnan(here.loss.sel(learner="Incremental", factor=0.1)).all(), "it has no step to be wrong"
    assert float(here.loss.min()) >= float(here.batch.isel(learner=0)), "nothing beats batch PCA"


def test_a_sweep_of_the_papers_rows_is_made_at_every_step(made):
    loss = made("krasulina-table-1").results.loss.sel(reading="70,000 rows", k=5)
    stepless = np.isnan(loss.sel(learner="Incremental", run=0)).values.tolist()
    assert stepless == [True, False, True]
    assert np.isfinite(loss.sel(learner="Oja")).all()


SWEEPS = "with as many rows as the paper's, in 7 sweeps, "
LARGER = "at 3.2 times the step: the paper's step, which it does not print, is the larger one or between them"


@pytest.mark.parametrize(
    ("theirs", "ours", "tried", "sweeps", "digit", "said"),
    [
        (0.04, 0.07, (9.0, 9.0), 7, 0.0, ""),
        (0.04, 0.418, (0.05, 0.05), 7, 0.0, f"{SWEEPS}0.05 %"),
        (0.04, 0.418, (0.2, 0.2), 7, 0.0, f"{SWEEPS}0.2 %: not explained"),
        (0.03, 0.0, (9.0, 9.0), 7, 0.03, ""),
        (0.03, 0.418, (0.0, 9.0), 7, 0.03, f"{SWEEPS}0 %"),
        (20.48, 5.7, (4.0, 5.0), 7, 0.0, f"{SWEEPS}4 %: not explained"),
        (20.48, 5.7, (4.0, np.nan), 7, 0.0, f"{SWEEPS}4 %: not explained"),
        (14.99, 57.8, (40.4, 4.7), 7, 0.0, f"{SWEEPS}40.4 %, 4.7 % {LARGER}"),
        (14.99, 57.8, (40.4, 4.7), 7, None, f"{SWEEPS}40.4 %"),
        (0.04, 0.418, (0.418, 0.4), 1, 0.0, "not explained"),
    ],
)
def test_what_differs_by_more_than_a_factor_of_two_has_a_measured_reason_or_none(
    theirs, ours, tried, sweeps, digit, said
):
    numbers = [page.spread([value]) for value in tried]
    assert krasulina_table_1._why(theirs, ours, numbers, sweeps, digit) == said


def test_the_neighbouring_step_is_learned_with_of_the_papers_own_images_alone(made, monkeypatch):
    assert np.isnan(made("krasulina-table-1").results.higher_loss).all()
    monkeypatch.setitem(_krasulina.PRINTED, "digits", {})
    experiment = EXPERIMENTS["krasulina-table-1"]
    setup = reproduce.setup(experiment, runs=1, components=(5,))
    monkeypatch.setattr(krasulina_table_1, "PAPERS_ROWS", 120)
    cell = {"reading": "70,000 rows", "k": 5, "learner": "Oja"}
    found = experiment.measure(setup, cell)
    assert np.isfinite(found.higher_loss).all()
    assert (found.higher_loss != found.loss).all()


@pytest.mark.parametrize(("count", "why"), [(10_000, "of 10,000 images here and 70,000 there"), (70_000, "")])
def test_batch_losses_stand_beside_each_other_with_how_many_images_they_are_of(count, why, made, monkeypatch):
    here = made("krasulina-table-1").results.sel(reading="as here")
    monkeypatch.setattr(_krasulina, "images", lambda name: np.empty((count, 0)))
    setup = replace(reproduce.setup(EXPERIMENTS["krasulina-table-1"]), data="mnist")
    row = krasulina_table_1._batch(here, setup, 5)
    assert row.source.text == "35.16"
    assert row.ours.value == float(here.batch.isel(k=0, learner=0))
    assert bool(row.why) == bool(why)
    assert row.why.startswith(why)


def test_who_is_first_is_said_with_spreads_and_beside_the_implicit_rule():
    names = list(_krasulina.METHODS)
    values = xr.DataArray(
        [[1.0, 3.0], [2.0, 2.2], [9.0, 9.0], [np.nan, 0.0], [5.0, 7.0]], {"learner": names, "run": [0, 1]}
    )
    first, told = krasulina_figure_1._first(values, "%")
    assert first == "Oja"
    assert told == "Oja 2 ± 1.4 %, Krasulina 2.1 ± 0.14 %, Imp. Krasulina 6 ± 1.4 %"


def test_the_printed_table_is_read_whole():
    assert _krasulina.PRINTED["mnist"][5]["Sanger", 10.0] == (42.36, 1.62)
    assert _krasulina.PRINTED["cifar10"][20]["Imp. Krasulina", 0.1] == (48.75, 0.03)
    assert _krasulina.PRINTED["mnist"][10]["Incremental", 1.0] == (27.01, 0.04)
    assert all(len(table) == 13 for sets in _krasulina.PRINTED.values() for table in sets.values())


@pytest.mark.parametrize("name", _krasulina.METHODS)
def test_combined_machines_have_the_mean_of_their_bases(name):
    X = np.random.default_rng(0).standard_normal((40, 6)) * [5, 4, 3, 1, 1, 1]
    setup = replace(reproduce.setup(EXPERIMENTS["krasulina-distributed"]), backend="numpy")
    machines = [_krasulina.learner(setup, name, 2, 0.01, 0).partial_fit(X[i::2]) for i in range(2)]
    mean = np.mean([machine.state()["basis"].values for machine in machines], axis=0)
    together = krasulina_distributed.combined(machines)
    for machine in together:
        C = machine.state()["basis"].values
        if machine.method.averages:
            np.testing.assert_allclose(C, mean, atol=1e-12)
        else:
            np.testing.assert_allclose(C.T @ C, np.eye(2), atol=1e-12)
            np.testing.assert_allclose(C @ C.T, mean @ np.linalg.pinv(mean), atol=1e-12)
        machine.partial_fit(X[:3])  # it goes on


@pytest.mark.parametrize("name", krasulina_distributed.SIGNED)
def test_lapacks_signs_are_those_of_a_qr_of_each_machine(name):
    X = np.random.default_rng(0).standard_normal((40, 6)) * [5, 4, 3, 1, 1, 1]
    setup = replace(reproduce.setup(EXPERIMENTS["krasulina-distributed"]), backend="numpy")
    machines = [_krasulina.learner(setup, name, 2, 0.01, i).partial_fit(X[i::2]) for i in range(2)]
    signed = [np.linalg.qr(machine.state()["basis"].values)[0] for machine in machines]
    for machine in krasulina_distributed.combined(machines, lapacks=True):
        np.testing.assert_array_equal(machine.state()["basis"].values, np.linalg.qr(np.mean(signed, axis=0))[0])


def test_signs_move_the_averages_of_orthonormal_bases_alone(made):
    end = made("krasulina-distributed").results.combined.isel(round=-1)
    for name in _krasulina.METHODS:
        here, signs = (float(end.sel(reading=r, learner=name, k=5, run=0)) for r in ("as here", "signs"))
        assert (here == signs) == (name not in krasulina_distributed.SIGNED)


def test_the_distributed_page_counts_a_machines_rows_and_takes_the_slip_for_what_it_is(made):
    run = made("krasulina-distributed")
    setup = reproduce.setup(EXPERIMENTS["krasulina-distributed"], **SMALL["krasulina-distributed"])
    rows = {row.what: row for row in krasulina_distributed._beside(run.results, setup)}
    single, parallel = (rows[f"Imp. Krasulina, {w}, k = 5: excess over batch PCA"] for w in ("single", "parallel"))
    assert single.why == "a machine sees 60 rows here and 70,000 there"
    assert parallel.why == "a machine sees 20 rows here and 7,000 there"
    assert single.source.text == "0.03 %"


def test_the_step_with_the_least_validation_loss_is_chosen(small, monkeypatch):
    setup = replace(reproduce.setup(EXPERIMENTS["krasulina-table-1"]), backend="numpy")

    def loss(made, rest, held):
        assert len(rest) == 9 * len(held) == 54
        return abs(np.log10(made.settings["step_size"].eta0) - 3)

    monkeypatch.setattr(_krasulina, "_validated", loss)
    assert _krasulina.chosen(setup, "Oja", 4) == pytest.approx(1000)


def test_the_loss_from_the_moment_is_that_of_the_rows(small):
    setup = replace(reproduce.setup(EXPERIMENTS["krasulina-table-1"]), backend="numpy")
    X = _krasulina.images("digits")
    for name in _krasulina.METHODS:
        made = _krasulina.learner(setup, name, 3, 0.1, 0).partial_fit(X)
        assert _krasulina.loss_of(made, "digits") == pytest.approx(ERRORS["subspace"].mean(made, (X, None)), rel=1e-10)
    values = np.linalg.svd(X, compute_uv=False) ** 2 / len(X)
    assert _krasulina.batch_loss("digits", 3) == pytest.approx(values[3:].sum(), rel=1e-10)


def test_a_unit_start_is_the_same_draw_unscaled(small):
    setup = replace(reproduce.setup(EXPERIMENTS["krasulina-table-1"]), backend="numpy")
    rows = _krasulina.images("digits")[:0]
    for name in _krasulina.METHODS:
        one, other = (
            _krasulina.learner(setup, name, 3, 0.1, 5, unit).partial_fit(rows).state()["basis"].values
            for unit in (False, True)
        )
        scale = 1e4 if name in ("Sanger", "Imp. Krasulina") else 1.0
        np.testing.assert_allclose(other, scale * one, rtol=1e-12)


def test_forgetting_is_the_mean_growth_of_the_error_on_earlier_tasks():
    E = np.array([[[1.0, np.nan, np.nan], [2.0, 1.0, np.nan], [4.0, 2.0, 9.0]]])  # run, after, task
    assert _tasks.forgetting(E) == pytest.approx([(3 + 1) / 2])


def test_alternating_steps_solve_two_tasks_in_three(made):
    results = made("survey-figure-2").results
    gap = (results.gap**2).sum("axis")
    assert float(gap.sel(steps="alternating", t=3).max()) < 1e-20
    assert float(gap.sel(steps="constant", t=3).min()) > 1e-6


def test_rls_averages_as_the_batch_problem_does(made):
    theta = made("survey-figure-5").results.theta.isel(run=0)
    want = [np.linalg.lstsq([[2 / b**0.5], [1 / b]], [4 / b**0.5, 1 / b], rcond=None)[0][0] for b in theta.beta.values]
    np.testing.assert_allclose(theta, want, rtol=1e-12)


def test_later_rows_make_no_covariance_larger(made):
    results = made("survey-figure-7").results
    assert float(results.least.min()) > -1e-12
    trace = results.trace.isel(run=0).values
    assert (np.diff(trace[0]) < 0).all()


def test_projections_forget_nothing(made):
    errors = made("forgetting").results.task_error.isel(run=0)
    for name in ("OGD", "GP", "ICL"):
        last, own = errors.sel(learner=name).values[-1], np.diagonal(errors.sel(learner=name))
        np.testing.assert_allclose(last, own, atol=1e-10)
    greedy = errors.sel(learner="Greedy").values
    assert greedy[-1, 0] > 10 * greedy[0, 0]


def test_the_counterexample_has_the_gradients_of_its_function():
    from orfit_bench.reproduce.sgd_rate import line

    found = line(100)
    y = found.draw(200_000, 0).y
    slope = np.mean(np.sign(3 - y))  # of |3 - y|, in the mean over rows
    assert abs(slope - 0.16) < 0.01

    class At3:
        def predict(self, X):
            return np.full(len(X), 3.0)

    assert found.gap(At3()) == pytest.approx(0.16 * 2)


class Counted:
    """An experiment of six cells that counts what is measured, and breaks where it is told to."""

    def __init__(self):
        self.measured, self.breaks = [], None

    def measure(self, setup, cell):
        if cell == self.breaks:
            raise ValueError("it broke")
        self.measured.append(cell)
        warnings.warn("half of the digits are gone", UserWarning, stacklevel=1)
        value = 10.0 * cell["a"] + cell["run"] / 3
        return xr.Dataset({"value": ("x", np.array([value, np.nan]), about("1", "a value"))}, {"x": [0, 1]})

    def experiment(self):
        axes = lambda setup: {"a": [1, 2], "run": list(range(setup["runs"]))}  # noqa: E731
        sections = lambda results, setup: []  # noqa: E731
        return Experiment("counted", "nowhere", "six cells", 1, {"runs": 3}, axes, self.measure, sections)


@pytest.fixture
def counted(monkeypatch):
    """It, among the others."""
    made = Counted()
    monkeypatch.setitem(EXPERIMENTS, "counted", made.experiment())
    return made


def run_counted(folder, **more):
    experiment = EXPERIMENTS["counted"]
    return reproduce.run(experiment, reproduce.setup(experiment), folder, isolate=False, **more)


def test_a_run_that_broke_goes_on_with_the_cells_that_are_left(counted, tmp_path):
    whole = run_counted(tmp_path / "whole").file
    counted.measured.clear()
    counted.breaks = {"a": 2, "run": 0}
    with pytest.raises(RuntimeError, match="counted failed at 2, 0: ValueError: it broke"):
        run_counted(tmp_path / "cut")
    counted.breaks = None
    told = []
    cut = run_counted(tmp_path / "cut", progress=lambda *said: told.append(said)).file
    assert len(counted.measured) == 6, "each cell once"
    assert told[0] == (3, 6, "")
    assert told[-1] == (6, 6, "2, 2")
    xr.testing.assert_identical(xr.load_dataset(whole), xr.load_dataset(cut))
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
    told = []
    run_counted(tmp_path, progress=lambda *said: told.append(said))
    assert told[0] == (4, 6, ""), "those of the images as they are now"


def test_the_files_of_real_data_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.setenv("ORFIT_BENCH_DATA", str(tmp_path))
    monkeypatch.setattr(data.mnist_files, "_cache", lambda: tmp_path / "none")
    for folder, names in (("mnist", list(data.mnist_files.SHA256)), ("cifar10", data.BATCHES)):
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / name).write_bytes(b"")
    assert [len(data.files(name)) for name in ("digits", "mnist", "cifar10", "its own")] == [0, 4, 6, 0]


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
    experiment = EXPERIMENTS["counted"]
    reproduce.run(experiment, reproduce.setup(experiment, runs=1), tmp_path, isolate=False)
    assert len(counted.measured) == 3 + 2


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_killed_run_ends_in_the_identical_file(tmp_path):
    environment = {**os.environ, "ORFIT_BENCH_PLUGINS": "catalogue,numpy"}
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
    resumed, whole = call("cut"), call("whole")
    assert resumed.returncode == whole.returncode == 0, resumed.stderr + whole.stderr
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
from orfit_bench import reproduce

name, given, folder, cut = sys.argv[1], json.loads(sys.argv[2]), Path(sys.argv[3]), sys.argv[4] == "cut"

def progress(done, total, now):
    if cut and done == max(1, total // 2):
        os.kill(os.getpid(), signal.SIGKILL)

experiment = reproduce.find(name)
reproduce.run(experiment, reproduce.setup(experiment, **given), folder, isolate=False, progress=progress)
"""


@pytest.mark.slow  # two minutes for all
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_experiment_killed_half_way_ends_in_the_same_numbers(tmp_path, name):
    environment = {**os.environ, "ORFIT_BENCH_PLUGINS": "catalogue,numpy"}

    def call(folder, how):
        command = [sys.executable, "-c", SCRIPT, name, json.dumps(SMALL[name]), str(tmp_path / folder), how]
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


@pytest.mark.parametrize(
    ("name", "wrong", "said"),
    [
        ("survey-figure-1", {"tasks": 5}, r"survey-figure-1: tasks=5, want an integer in \[6, inf\)"),
        ("survey-figure-5", {"betas": 1}, "betas=1, want an integer"),
        ("survey-figure-5", {"ridge": 0}, r"ridge=0, want a number in \(0, inf\)"),
        ("survey-figure-2", {"steps": "x"}, "steps='x', want an integer"),
        ("sgd-rate", {"horizons": 100}, "horizons=100, want a tuple"),
        ("sgd-rate", {"horizons": (100, 2.5)}, "want a tuple"),
        ("sgd-rate", {"horizons": (2, 100)}, r"and an integer in \[3, inf\)"),
        ("sgd-rate", {"horizons": ()}, "want a tuple"),
        ("krasulina-table-1", {"components": (5, 5)}, "each greater than the one before"),
        ("orfit-unlimited", {"rows": 8}, r"sample=11, want an integer in \[1, 8\]"),
        ("forgetting", {"runs": True}, "runs=True, want an integer"),
    ],
)
def test_numbers_that_no_run_could_end_with_are_refused_before_it(name, wrong, said):
    with pytest.raises((TypeError, ValueError), match=said):
        reproduce.setup(EXPERIMENTS[name], **wrong)


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("survey-figure-1", {"tasks": 6}),
        ("survey-figure-2", {"steps": 3}),
        ("survey-figure-5", {"betas": 2, "rows": 2}),
        ("survey-figure-7", {"tasks": 2, "d": 1}),
    ],
)
@pytest.mark.filterwarnings("error")
def test_the_least_numbers_give_a_page(name, least, tmp_path):
    setup = replace(reproduce.setup(EXPERIMENTS[name], runs=2, **least), backend="numpy")
    assert "<svg" in reproduce.run(EXPERIMENTS[name], setup, tmp_path, isolate=False).page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "learned", "protocol"),
    [
        ("sgd-rate", None, {}),
        ("sgd-rate", None, {"runs": 2, "horizons": (20, 50)}),
        ("forgetting", "mnist", {"runs": 3}),
        ("forgetting", "mnist", {"rows": 12}),
    ],
)
def test_what_the_page_says_makes_the_same_run_again(name, learned, protocol, monkeypatch, tmp_path):
    experiment, asked = EXPERIMENTS[name], []
    monkeypatch.setattr(data, "why_absent", lambda name: "")
    chosen = reproduce.setup(experiment, learned, **protocol)

    def run(experiment, setup, folder, **more):
        asked.append((experiment.name, setup))
        raise RuntimeError("enough")

    monkeypatch.setattr(reproduce, "run", run)
    again = page._again(experiment, chosen)
    if again.startswith("orfit-bench"):
        CliRunner().invoke(main, [*again.split()[1:], "--output", str(tmp_path / "made")])
    else:
        with pytest.raises(RuntimeError):
            exec(again, {})
    assert asked == [(name, chosen)]


class TestCommand:
    def invoke(self, *arguments):
        return CliRunner().invoke(main, ["reproduce", *arguments])

    def test_without_a_name_it_lists_the_experiments(self):
        result = self.invoke()
        assert result.exit_code == 0
        for experiment in EXPERIMENTS.values():
            assert experiment.name in result.output

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["orfit-rotated-digit"], "Did you mean 'orfit-rotated-digits'?"),
            (["survey-figure-8", "--data", "mnist"], "it makes its own rows"),
            (["sgd-rate", "--data", "mnist"], "want one of digits"),
            (["forgetting", "--data", "cifar10"], "want one of digits, mnist"),
            (["forgetting", "--runs", "0"], "runs=0, want an integer in [1, inf)"),
            (["forgetting", "--output", "no/such/folder"], "no/such"),
        ],
    )
    def test_a_mistake_is_said_in_a_line_and_ends_in_two(self, arguments, said, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        result = self.invoke(*arguments)
        assert result.exit_code == 2
        assert said in result.output
        assert not list(tmp_path.iterdir())

    def test_data_that_are_not_here_are_named(self, monkeypatch, tmp_path):
        monkeypatch.setenv("ORFIT_BENCH_DATA", str(tmp_path))
        result = self.invoke("krasulina-table-1", "--data", "cifar10")
        assert result.exit_code == 2
        assert "data_batch_1.bin" in result.output

    def test_a_cell_that_fails_ends_in_one(self, monkeypatch, tmp_path):
        def fails(*arguments, **more):
            raise RuntimeError("counted failed at 1: ValueError: it broke")

        monkeypatch.setattr(reproduce, "run", fails)
        result = self.invoke("forgetting", "--output", str(tmp_path / "made"))
        assert result.exit_code == 1
        assert "it broke" in result.output


def test_cifar_10_is_read_from_the_binary_files(tmp_path, monkeypatch):
    folder = tmp_path / "cifar10"
    folder.mkdir()
    pixels = np.random.default_rng(0).integers(0, 256, (6, 2, data.RECORD), np.uint8)
    for name, batch in zip(data.BATCHES, pixels, strict=True):
        batch.tofile(folder / name)
    monkeypatch.setenv("ORFIT_BENCH_DATA", str(tmp_path))
    assert not data.why_absent("cifar10")
    X = data.centred("cifar10")
    assert X.shape == (12, 3072)
    np.testing.assert_allclose(X[0] - X[1], (pixels[0, 0, 1:].astype(float) - pixels[0, 1, 1:]) / 255, atol=1e-15)
    (folder / "test_batch.bin").write_bytes(b"short")
    with pytest.raises(ValueError, match="is damaged"):
        data.centred("cifar10")


@pytest.mark.parametrize(("here", "part"), [(("test",), "test"), (("train", "test"), "train")])
def test_mnists_training_part_is_learned_where_it_is_at_hand(here, part, monkeypatch):
    found = Data(np.zeros((5, 4)), np.zeros(5), (np.ones((3, 4)), np.ones(3)), (np.ones((2, 4)), np.ones(2)))
    asked = []
    monkeypatch.setattr(data.mnist_files, "why_absent", lambda name: "" if name in here else "it is not here")
    monkeypatch.setattr(data.rotated_digits, "make_mnist", lambda *arguments: asked.append(arguments) or found)
    got = data.rotated("mnist", 5, 7)
    assert asked[0][:4] == (5, 2, part, 7)
    assert got.validation is None
    assert [len(rows) for rows in got.test] == ([3, 3] if part == "train" else [5, 5])
    assert ("as in the thesis" in data.origin("mnist")) == (part == "train")


def test_images_that_nobody_validates_on_are_tested_on():
    kept, whole = data.rotated("digits", 100, 0, validation=True), data.rotated("digits", 100, 0)
    assert len(whole.test[0]) == len(whole.test[1]) == len(kept.test[0]) + len(kept.validation[0]) > len(kept.test[0])
    assert whole.validation is None
    np.testing.assert_array_equal(whole.X, kept.X)


def test_who_varies_less_is_said_of_every_rival():
    end = np.array([[1.0, 2.0], [0.0, 9.0], [1.0, 4.0], [1.0, 5.0], [1.0, 6.0], [1.0, 1.5]])  # method, run
    told = orfit_rotated_digits._variation(end, [2, 3, 4, 5])
    assert told.startswith("does not hold of Greedy: 0.71 against ORFit-latest 2.1")
    assert orfit_rotated_digits._variation(end, [2, 3, 4]).startswith("holds: 0.71")
    assert orfit_rotated_digits._variation(end[:, :1], [2, 3, 4, 5]) == "one run has no spread"


def test_a_page_says_what_is_learned_and_tested_on(made):
    text = made("orfit-rotated-digits").page.read_text(encoding="utf-8")
    assert "8 and 12 of the digit 2" in text
    assert "enlarged to 28 x 28" in text


def test_a_spread_is_mean_and_deviation_and_one_run_has_none():
    assert page.spread([1.0, 2.0, 3.0]).text == "2 ± 1"
    assert page.spread([2.0]).text == "2"
    assert page.spread([np.nan, 1.0]).text == "n/a"


def test_one_run_has_no_standard_error_and_two_have_a_heavy_tailed_one():
    squares, claimed = np.array([[1.0, 5.0], [3.0, 9.0]]), np.array([1.0, 7.0])  # run, pair
    said = survey_figure_7._apart(squares, claimed)
    assert said[0].text == "at most 1.0 standard errors apart"
    assert "2 of Student's t with 1 degrees of freedom are within 25.5" in said[1]
    assert survey_figure_7._apart(squares[:1], claimed) == ("n/a", "one run has no spread")


@pytest.mark.parametrize(("line", "grows"), [([1.0, 1.2], True), ([1.3, 1.2], False), ([1.3], False)])
def test_what_does_not_grow_with_the_horizon_is_not_said_to(line, grows):
    horizons = [100, 300][: len(line)]
    share = xr.DataArray(
        np.full((2, 3, 1, len(line)), 0.5),
        {"problem": list(sgd_rate.PROBLEMS), "steps": list(sgd_rate.STEPS), "run": [0], "horizon": horizons},
    )
    share.loc["line", "running"] = [line]
    (row,) = (row for row in sgd_rate._beside(share) if row.what == "running step: line")
    assert "false without a projection" in row.why
    assert ("grows with T" in row.why) == grows


def test_the_page_of_tables_keeps_those_that_are_not_measured_anew(made, tmp_path, monkeypatch):
    file = tmp_path / "experiments.md"
    before = (
        "# Page\n\n<!-- measured -->\n## forgetting on digits\n\nold\n\n## sgd-rate on digits\n\nkept\n<!-- end -->\n"
    )
    file.write_text(before)
    monkeypatch.setattr(experiments_page, "PAGE", file)
    with pytest.raises(FileNotFoundError, match="no file of an experiment"):
        experiments_page.main(str(tmp_path))
    assert file.read_text() == before
    experiments_page.main(str(made("forgetting").file.parent))
    after = file.read_text()
    assert "kept" in after
    assert "old" not in after
    assert "## forgetting on digits\n\nCatastrophic" in after
    assert "; 1 run." in after
    assert "± in ours is a standard deviation over the runs" in after
    experiments_page.main(str(made("orfit-unlimited").file.parent))
    headings = [line for line in file.read_text().splitlines() if line.startswith("##")]
    assert headings == ["## orfit-unlimited on digits", "## forgetting on digits", "## sgd-rate on digits"]


@pytest.mark.parametrize("module", ["matplotlib", "jinja2"])
def test_what_pages_need_is_asked_for_before_the_work(module, counted, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    report_page.environment.cache_clear()
    with pytest.raises(UnavailableError, match=r"pip install 'orfit-bench\[plots\]'"):
        run_counted(tmp_path / "made")
    assert not counted.measured
    assert not list(tmp_path.iterdir())


def test_without_a_cpu_backend_it_says_so(monkeypatch):
    from orfit_bench.reproduce import running

    class Empty:
        backends = {}

    monkeypatch.setattr(running, "registry", Empty)
    with pytest.raises(UnavailableError, match="neither the numba nor the numpy backend"):
        reproduce.setup(EXPERIMENTS["forgetting"])
