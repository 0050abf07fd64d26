"""The statements of the other sources hold for the small runs, and the pages say so."""

import numpy as np
import pytest
import xarray as xr

from orfit_bench_papers import _tasks, survey_figure_7
from orfit_bench_papers.orfit_rotated_digits import presentation as rotated_digits
from orfit_bench_papers.sgd_rate import measurement, presentation

pytestmark = pytest.mark.integration


def test_orfit_fits_all_rows_and_keeps_the_example(created):
    results = created("orfit-unlimited").results.one_pass.sel(learner="ORFit")
    assert float(results.sel(error="train").isel(row=-1).max()) < 1e-12
    assert float(results.sel(error="sample").isel(row=slice(2, None)).max()) < 1e-12
    assert float(results.sel(error="test").min()) > 0.1, "test images are others"


def test_a_pixel_scale_moves_nothing_from_a_start_at_zero_and_much_from_another(created):
    ends = created("orfit-rotated-digits").results.test_error.isel(row=-1)
    np.testing.assert_allclose(ends.sel(reading="bytes"), ends.sel(reading="as here"), rtol=1e-9)
    assert float(abs(ends.sel(reading="bytes, random start") / ends.sel(reading="random start") - 1).max()) > 0.5
    assert (ends.sel(reading="one set of rows", learner="Greedy").values.std()) == 0


def test_forgetting_is_the_mean_growth_of_the_error_on_earlier_tasks():
    E = np.array([[[1.0, np.nan, np.nan], [2.0, 1.0, np.nan], [4.0, 2.0, 9.0]]])  # run, after, task
    assert _tasks.forgetting(E) == pytest.approx([(3 + 1) / 2])


def test_alternating_steps_solve_two_tasks_in_three(created):
    results = created("survey-figure-2").results
    gap = (results.gap**2).sum("axis")
    assert float(gap.sel(steps="alternating", t=3).max()) < 1e-20
    assert float(gap.sel(steps="constant", t=3).min()) > 1e-6


def test_rls_averages_as_the_batch_problem_does(created):
    theta = created("survey-figure-5").results.theta.isel(run=0)
    want = [np.linalg.lstsq([[2 / b**0.5], [1 / b]], [4 / b**0.5, 1 / b], rcond=None)[0][0] for b in theta.beta.values]
    np.testing.assert_allclose(theta, want, rtol=1e-12)


def test_later_rows_make_no_covariance_larger(created):
    results = created("survey-figure-7").results
    assert float(results.least.min()) > -1e-12
    trace = results.trace.isel(run=0).values
    assert (np.diff(trace[0]) < 0).all()


def test_projections_forget_nothing(created):
    errors = created("forgetting").results.task_error.isel(run=0)
    for name in ("OGD", "GP", "ICL"):
        last, own = errors.sel(learner=name).values[-1], np.diagonal(errors.sel(learner=name))
        np.testing.assert_allclose(last, own, atol=1e-10)
    greedy = errors.sel(learner="Greedy").values
    assert greedy[-1, 0] > 10 * greedy[0, 0]


def test_the_counterexample_has_the_gradients_of_its_function():
    found = measurement.line(100)
    y = found.draw(200_000, 0).y
    slope = np.mean(np.sign(3 - y))  # the mean of |3 - y| over rows
    assert abs(slope - 0.16) < 0.01

    class At3:
        def predict(self, X):
            return np.full(len(X), 3.0)

    assert found.gap(At3()) == pytest.approx(0.16 * 2)


def test_variation_is_compared_with_every_rival():
    end = np.array([[1.0, 2.0], [0.0, 9.0], [1.0, 4.0], [1.0, 5.0], [1.0, 6.0], [1.0, 1.5]])  # method, run
    reported = rotated_digits._variation(end, [2, 3, 4, 5])
    assert reported.startswith("does not hold for Greedy: 0.71 against ORFit-latest 2.1")
    assert rotated_digits._variation(end, [2, 3, 4]).startswith("holds: 0.71")
    assert rotated_digits._variation(end[:, :1], [2, 3, 4, 5]) == "one run has no spread"


def test_one_run_has_no_standard_error_and_two_have_a_heavy_tailed_one():
    squares, claimed = np.array([[1.0, 5.0], [3.0, 9.0]]), np.array([1.0, 7.0])  # run, pair
    stated = survey_figure_7._separation(squares, claimed)
    assert stated[0].text == "at most 1.0 standard errors apart"
    assert "2 of Student's t with 1 degrees of freedom are within 25.5" in stated[1]
    assert survey_figure_7._separation(squares[:1], claimed) == ("n/a", "one run has no spread")


@pytest.mark.parametrize(("line", "grows"), [([1.0, 1.2], True), ([1.3, 1.2], False), ([1.3], False)])
def test_growth_with_the_horizon_is_claimed_only_where_it_occurs(line, grows):
    horizons = [100, 300][: len(line)]
    share = xr.DataArray(
        np.full((2, 3, 1, len(line)), 0.5),
        {"problem": list(measurement.PROBLEMS), "steps": list(measurement.STEPS), "run": [0], "horizon": horizons},
    )
    share.loc["line", "running"] = [line]
    (row,) = (row for row in presentation._claims(share) if row.what == "running step: line")
    assert "false without a projection" in row.why
    assert ("grows with T" in row.why) == grows
