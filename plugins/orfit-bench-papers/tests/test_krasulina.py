"""The experiments of the Krasulina paper: steps, sweeps, combined machines, the printed table."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from orfit_bench.bench.error import ERRORS
from orfit_bench_papers import _krasulina, krasulina_figure_1, page
from orfit_bench_papers.krasulina_distributed import measurement, presentation
from orfit_bench_papers.krasulina_table_1 import measurement as table_measurement
from orfit_bench_papers.krasulina_table_1 import presentation as table
from orfit_bench_papers.setups import find, make_setup


def test_step_sizes_are_chosen_where_the_validation_rows_say(created):
    results = created("krasulina-table-1").results.isel(k=0)
    here = results.sel(reading="as here")
    assert float(here.eta0.sel(learner="Incremental")) == 0
    for name, (lowest, highest) in _krasulina.GRID.items():
        assert 10.0**lowest <= float(here.eta0.sel(learner=name)) <= 10.0**highest
    assert np.isnan(here.loss.sel(learner="Incremental", factor=0.1)).all(), "it has no step to be wrong"
    assert float(here.loss.min()) >= float(here.batch.isel(learner=0)), "nothing beats batch PCA"


def test_a_sweep_of_the_papers_rows_happens_at_every_step(created):
    loss = created("krasulina-table-1").results.loss.sel(reading="70,000 rows", k=5)
    stepless = np.isnan(loss.sel(learner="Incremental", run=0)).values.tolist()
    assert stepless == [True, False, True]
    assert np.isfinite(loss.sel(learner="Oja")).all()


SWEEPS = "with as many rows as the paper's, in 7 sweeps, "


LARGER = "at 3.2 times the step: the paper's step, which it does not print, is the larger one or between them"


@pytest.mark.parametrize(
    ("theirs", "ours", "tried", "sweeps", "digit", "stated"),
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
    theirs, ours, tried, sweeps, digit, stated
):
    numbers = [page.spread([value]) for value in tried]
    assert table._why(theirs, ours, numbers, sweeps, digit) == stated


def test_the_neighbouring_step_is_learned_with_of_the_papers_own_images_alone(created, monkeypatch):
    assert np.isnan(created("krasulina-table-1").results.higher_loss).all()
    monkeypatch.setitem(_krasulina.PRINTED, "digits", {})
    experiment = find("krasulina-table-1")
    setup = make_setup(experiment, runs=1, components=(5,))
    monkeypatch.setattr(table_measurement, "PAPERS_ROWS", 120)
    cell = {"reading": "70,000 rows", "k": 5, "learner": "Oja"}
    found = experiment.measure(setup, cell)
    assert np.isfinite(found.higher_loss).all()
    assert (found.higher_loss != found.loss).all()


@pytest.mark.parametrize(("count", "why"), [(10_000, "of 10,000 images here and 70,000 there"), (70_000, "")])
def test_batch_losses_name_their_numbers_of_images(count, why, created, monkeypatch):
    here = created("krasulina-table-1").results.sel(reading="as here")
    monkeypatch.setattr(_krasulina, "images", lambda name: np.empty((count, 0)))
    setup = replace(make_setup(find("krasulina-table-1")), data="mnist")
    row = table._batch(here, setup, 5)
    assert row.source.text == "35.16"
    assert row.ours.value == float(here.batch.isel(k=0, learner=0))
    assert bool(row.why) == bool(why)
    assert row.why.startswith(why)


def test_the_winner_has_spreads_and_the_implicit_rule_next_to_it():
    names = list(_krasulina.METHODS)
    values = xr.DataArray(
        [[1.0, 3.0], [2.0, 2.2], [9.0, 9.0], [np.nan, 0.0], [5.0, 7.0]], {"learner": names, "run": [0, 1]}
    )
    first, reported = krasulina_figure_1._first(values, "%")
    assert first == "Oja"
    assert reported == "Oja 2 ± 1.4 %, Krasulina 2.1 ± 0.14 %, Imp. Krasulina 6 ± 1.4 %"


def test_the_printed_table_is_read_completely():
    assert _krasulina.PRINTED["mnist"][5]["Sanger", 10.0] == (42.36, 1.62)
    assert _krasulina.PRINTED["cifar10"][20]["Imp. Krasulina", 0.1] == (48.75, 0.03)
    assert _krasulina.PRINTED["mnist"][10]["Incremental", 1.0] == (27.01, 0.04)
    assert all(len(table) == 13 for sets in _krasulina.PRINTED.values() for table in sets.values())


@pytest.mark.parametrize("name", _krasulina.METHODS)
def test_combined_machines_have_the_mean_of_their_bases(name):
    X = np.random.default_rng(0).standard_normal((40, 6)) * [5, 4, 3, 1, 1, 1]
    setup = replace(make_setup(find("krasulina-distributed")), backend="numpy")
    machines = [_krasulina.create_learner(setup, name, 2, 0.01, 0).partial_fit(X[i::2]) for i in range(2)]
    mean = np.mean([machine.array("basis") for machine in machines], axis=0)
    together = measurement.combined(machines)
    for machine in together:
        C = machine.array("basis")
        if machine.method.combine.averages:
            np.testing.assert_allclose(C, mean, atol=1e-12)
        else:
            np.testing.assert_allclose(C.T @ C, np.eye(2), atol=1e-12)
            np.testing.assert_allclose(C @ C.T, mean @ np.linalg.pinv(mean), atol=1e-12)
        machine.partial_fit(X[:3])  # it continues


@pytest.mark.parametrize("name", measurement.SIGNED)
def test_lapacks_signs_are_those_of_a_qr_of_each_machine(name):
    X = np.random.default_rng(0).standard_normal((40, 6)) * [5, 4, 3, 1, 1, 1]
    setup = replace(make_setup(find("krasulina-distributed")), backend="numpy")
    machines = [_krasulina.create_learner(setup, name, 2, 0.01, i).partial_fit(X[i::2]) for i in range(2)]
    signed = [np.linalg.qr(machine.array("basis"))[0] for machine in machines]
    for machine in measurement.combined(machines, lapacks=True):
        np.testing.assert_array_equal(machine.array("basis"), np.linalg.qr(np.mean(signed, axis=0))[0])


def test_signs_move_the_averages_of_orthonormal_bases_alone(created):
    end = created("krasulina-distributed").results.combined.isel(round=-1)
    for name in _krasulina.METHODS:
        here, signs = (float(end.sel(reading=r, learner=name, k=5, run=0)) for r in ("as here", "signs"))
        assert (here == signs) == (name not in measurement.SIGNED)


def test_the_distributed_page_counts_a_machines_rows_and_takes_the_slip_for_what_it_is(created, numbers):
    run = created("krasulina-distributed")
    setup = make_setup(find("krasulina-distributed"), **numbers["krasulina-distributed"])
    rows = {row.what: row for row in presentation._claims(run.results, setup)}
    single, parallel = (rows[f"Imp. Krasulina, {w}, k = 5: excess over batch PCA"] for w in ("single", "parallel"))
    assert single.why == "a machine sees 60 rows here and 70,000 there"
    assert parallel.why == "a machine sees 20 rows here and 7,000 there"
    assert single.source.text == "0.03 %"


def test_the_step_with_the_least_validation_loss_is_chosen(small, monkeypatch):
    setup = replace(make_setup(find("krasulina-table-1")), backend="numpy")

    def loss(created, rest, held):
        assert len(rest) == 9 * len(held) == 54
        return abs(np.log10(created.settings["step_size"].eta0) - 3)

    monkeypatch.setattr(_krasulina, "_validated", loss)
    assert _krasulina.chosen(setup, "Oja", 4) == pytest.approx(1000)


def test_the_loss_from_the_moment_is_that_of_the_rows(small):
    setup = replace(make_setup(find("krasulina-table-1")), backend="numpy")
    X = _krasulina.images("digits")
    for name in _krasulina.METHODS:
        created = _krasulina.create_learner(setup, name, 3, 0.1, 0).partial_fit(X)
        assert _krasulina.loss_of(created, "digits") == pytest.approx(
            ERRORS["subspace"].mean(created, (X, None)), rel=1e-10
        )
    values = np.linalg.svd(X, compute_uv=False) ** 2 / len(X)
    assert _krasulina.batch_loss("digits", 3) == pytest.approx(values[3:].sum(), rel=1e-10)


def test_a_unit_start_is_the_same_draw_unscaled(small):
    setup = replace(make_setup(find("krasulina-table-1")), backend="numpy")
    rows = _krasulina.images("digits")[:0]
    for name in _krasulina.METHODS:
        one, other = (
            _krasulina.create_learner(setup, name, 3, 0.1, 5, unit).partial_fit(rows).array("basis")
            for unit in (False, True)
        )
        scale = 1e4 if name in ("Sanger", "Imp. Krasulina") else 1.0
        np.testing.assert_allclose(other, scale * one, rtol=1e-12)
