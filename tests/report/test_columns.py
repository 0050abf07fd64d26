"""Columns of result tables: metrics of plugins, and columns that the user chooses."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import xarray
from click.testing import CliRunner
from helpers.outcomes import created, table

from orfit_bench.bench import Suite, run
from orfit_bench.cli import main
from orfit_bench.report import columns
from orfit_bench.report.table import ranked


def test_metrics_of_plugins_become_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    suppliers = {
        ("metrics", "mae"): "mine 1.0",
        ("metrics", "none"): "mine 1.0",
        ("metrics", "speed"): "orfit-bench 0.1",
    }
    known = SimpleNamespace(metrics=("mae", "none", "speed"), suppliers=suppliers)
    monkeypatch.setattr(columns, "registry", lambda: known)
    values = {"mae": [np.nan, 2.0], "none": [np.nan, np.nan], "speed": [1.0, 2.0]}
    results = xarray.Dataset({name: ("cell", value) for name, value in values.items()})
    assert columns.plugin_metrics(results, [0, 1]) == {"mae": ("mae", ".4g")}
    assert columns.plugin_metrics(results, [0]) == {}


def test_a_metric_with_the_name_of_a_heading_can_be_chosen() -> None:
    assert columns.choose_columns(["state"], ["state_bytes"]) == ["state_bytes"]
    assert columns.choose_columns(["state"], ["state", "state_bytes"]) == ["state"]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of one cell of a regression and one of a classifier."""
    path = tmp_path_factory.mktemp("results") / "results.nc"
    run(Suite(["lms", "class_rls"], ["numpy"], rows=[40]), path, isolate=False, progress=None)
    return path


def show(file: Path, *names: str) -> str:
    options = [text for name in names for text in ("--column", name)]
    done = CliRunner().invoke(main, ["show", str(file), *options], env={"COLUMNS": "80"})
    assert done.exit_code == (2 if "nothing" in names else 0), done.output
    return done.output


def test_chosen_columns_are_shown_in_their_order(file: Path) -> None:
    lines = [line.split() for line in show(file, "state", "test_error", "status", "deviation").splitlines()]
    headings = [line for line in lines if line[:3] == ["method", "backend", "stream"]]
    assert ["method", "backend", "stream", "state", "test", "RMSE", "status", "deviation"] in headings
    assert ["method", "backend", "stream", "state", "error", "rate", "status", "deviation"] in headings
    assert all(line[6] == "ok" for line in lines if line and line[0] == "lms")


def test_columns_are_chosen_by_their_headings_in_reports_too(file: Path) -> None:
    headings = next(line for line in show(file, "p50", "p99", "peak memory").splitlines() if "method" in line)
    assert headings.split()[-4:] == ["p50", "p99", "peak", "memory"]


def test_integers_are_shown_in_full() -> None:
    results = table([created(seed=1234567), created(seed=1234568)])
    results = results.assign(n=("cell", [12345, 1e7]), half=("cell", [0.123456, np.nan]), flag=("cell", [True, False]))
    found = columns.chosen_columns(results, ["seed", "n", "half", "flag"], str(results["error"].values[0]))
    assert [form for _, form in found.values()] == [".0f", ".0f", ".4g", ".0f"]


def test_cells_are_sorted_by_the_numbers_in_their_names() -> None:
    streams = ["drift d=16 seed=2", "drift d=4 seed=10", "drift d=4 seed=2", "drift"]
    assert ranked(table([created(seed=k) for k in range(4)]), streams, range(4)) == [3, 2, 1, 0]
    streams = [f"noise={value}" for value in ("1", "0.001", "1e-05", "-1", "-2.5e-05")]
    assert ranked(table([created(seed=k) for k in range(5)]), streams, range(5)) == [3, 4, 2, 1, 0]


def test_unknown_column_is_refused_with_the_nearest(file: Path) -> None:
    refused = show(file, "nothing")
    assert "no column 'nothing'" in refused
    assert refused.count(" forgetting,") == 1
    done = CliRunner().invoke(main, ["run", "--method", "lms", "--column", "latency_p9"])
    assert done.exit_code == 2
    assert "Did you mean 'latency_p99'?" in done.output.replace("\n", " ")
