"""Every experiment runs with small sizes, and its page contains the numbers of the source."""

import re
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner

from orfit_bench.cli import main
from orfit_bench_papers import EXPERIMENTS, data, page, running
from orfit_bench_papers.setups import find, make_setup

pytestmark = pytest.mark.integration

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
"""Strings from the source that each page must contain."""


def test_every_experiment_is_tried(numbers):
    assert numbers.keys() == PRINTED.keys() == EXPERIMENTS.keys()


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_goes_through_and_its_page_has_the_sources_numbers(name, created, numbers):
    run = created(name)
    text = run.page.read_text(encoding="utf-8")
    for stated in [name, "Comparison with the source", find(name).experiment.source, *PRINTED[name]]:
        assert stated in text
    assert "<svg" in text
    assert "https://" not in text, "a page needs no network"
    experiment = find(name)
    results = xr.load_dataset(run.file)
    for axis, places in experiment.axes(make_setup(experiment, **numbers[name])).items():
        assert results[axis].values.tolist() == places
    for variable in results.data_vars.values():
        assert variable.attrs["long_name"]
        assert np.isfinite(variable.values).any() or variable.name == "higher_loss", "of the paper's own images alone"
    assert sorted(path.name for path in run.file.parent.iterdir()) == [f"{name}.html", f"{name}.nc"], (
        "no journal is left"
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_page_of_one_run_has_no_nan_in_it(name, created, numbers):
    results = created(name).results
    one = results.isel(run=[0]) if "run" in results.dims else results
    text = page.render(find(name), one, make_setup(find(name), **{**numbers[name], "runs": 1}))
    assert not re.findall(r"[^\n]*\bnan\b[^\n]*", re.sub("<svg.*?</svg>", "", text, flags=re.DOTALL))


@pytest.mark.parametrize(
    ("name", "wrong", "stated"),
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
def test_numbers_that_no_run_could_end_with_are_refused_before_it(name, wrong, stated):
    with pytest.raises((TypeError, ValueError), match=stated):
        make_setup(find(name), **wrong)


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
    setup = replace(make_setup(find(name), runs=2, **least), backend="numpy")
    assert "<svg" in running.run(find(name), setup, tmp_path, isolate=False).page.read_text(encoding="utf-8")


def test_the_setup_of_another_experiment_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"survey-figure-2: the setup is that of another experiment, .*'steps'"):
        running.run(find("survey-figure-2"), make_setup(find("survey-figure-1")), str(tmp_path), isolate=False)


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
    experiment, asked = find(name), []
    monkeypatch.setattr(data, "why_absent", lambda name: "")
    chosen = make_setup(experiment, learned, **protocol)

    def run(experiment, setup, folder, **more):
        asked.append((experiment.name, setup))
        raise RuntimeError("enough")

    monkeypatch.setattr(running, "run", run)
    again = page._again(experiment, chosen)
    if again.startswith("orfit-bench"):
        CliRunner().invoke(main, [*again.split()[1:], "--output", str(tmp_path / "made")])
    else:
        with pytest.raises(RuntimeError):
            exec(again, {})
    assert asked == [(name, chosen)]


def test_a_page_says_what_is_learned_and_tested_on(created):
    text = created("orfit-rotated-digits").page.read_text(encoding="utf-8")
    assert "8 and 12 of the digit 2" in text
    assert "enlarged to 28 x 28" in text


def test_a_spread_is_mean_and_deviation_and_one_run_has_none():
    assert page.spread([1.0, 2.0, 3.0]).text == "2 ± 1"
    assert page.spread([2.0]).text == "2"
    assert page.spread([np.nan, 1.0]).text == "n/a"
