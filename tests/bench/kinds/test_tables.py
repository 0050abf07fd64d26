"""Tables of results of every kind of method."""

from __future__ import annotations

from typing import Any

import pytest
import xarray as xr
from helpers.plans import MINE
from rich.console import Console

import orfit_bench as ob
from orfit_bench.bench import Suite, load, run
from orfit_bench.report.table import legend, results_tables


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, plugin: None) -> xr.Dataset:
    """Every kind in one file, including a network and a stream without a test set."""
    path = tmp_path_factory.mktemp("kinds") / "r.nc"
    methods = [*MINE, "rls", {"name": "rls", "model": {"hidden": [3]}}]
    suite = Suite(methods, ["numpy"], ["drift", "state_space", "class_digits"], rows=[60])
    created = run(suite, path, isolate=False)
    xr.testing.assert_identical(load(path), created)
    return created


def shown(item: Any) -> list[str]:
    console = Console(width=200)
    with console.capture() as captured:
        console.print(item)
    return [line.rstrip() for line in captured.get().splitlines()]


def test_results_state_the_error_of_every_kind(results: xr.Dataset) -> None:
    kinds_of = dict(zip(results["method"].values, results["kind"].values, strict=True))
    assert kinds_of == {n: ob.methods()[n].kind for n in (*MINE, "rls")}
    errors = dict(zip(results["kind"].values, results["error"].values, strict=True))
    assert errors == {
        "regression": "root mean squared error",
        "filter": "root mean squared error",
        "classification": "share of wrong labels",
        "subspace": "mean compression loss",
    }
    of_rls = results.isel(cell=results["method"].values == "rls")
    assert set(of_rls["model"].values) == {"linear", "mlp(3; tanh)"}
    assert results["task_error"].attrs["units"] == "by kind"


def test_errors_of_different_kinds_have_separate_tables(results: xr.Dataset) -> None:
    tables = {text[0].rpartition(": ")[2]: text for text in map(shown, results_tables(results))}
    heads = {name: " ".join(text[2].split()) for name, text in tables.items()}
    speed = "method backend stream samples/s roofline state"
    assert heads == {
        "root mean squared error": f"{speed} test RMSE a-priori MSE forgetting deviation",
        "share of wrong labels": f"{speed} error rate forgetting deviation",
        "mean compression loss": f"{speed} test loss % over PCA forgetting",
    }
    rows = {name: [line.split()[0] for line in text[4:] if line] for name, text in tables.items()}
    assert rows["share of wrong labels"] == ["my_labels"]
    assert rows["mean compression loss"] == ["my_subspace"] * 3
    assert sorted(set(rows["root mean squared error"])) == ["my_filter", "my_layers", "rls"]
    (line,) = [line for line in tables["share of wrong labels"] if "my_labels" in line]
    wrong = float(results["test_error"].values[results["kind"].values == "classification"][0])
    assert f"{100 * wrong:.2f}%" in line.split()


def test_rows_without_a_test_set_are_ranked_by_a_priori_error(results: xr.Dataset) -> None:
    state_space = results.isel(cell=results["stream"].values == "state_space")
    (table, *_) = results_tables(state_space)
    lines = [line for line in shown(table) if "state_space" in line]
    assert all(line.split()[-4] == "n/a" for line in lines)
    errors = [float(line.split()[-3]) for line in lines]
    assert errors == sorted(errors)
    assert lines[0].startswith(" my_filter"), "which knows that the state moves"
    (table, *_) = results_tables(results.isel(cell=results["stream"].values == "drift"))
    assert "a-priori" not in "".join(shown(table))


def test_tables_name_the_models(results: xr.Dataset) -> None:
    (table, *_) = results_tables(results)
    text = "\n".join(shown(table))
    assert "rls (mlp(3; tanh))" in text
    assert "rls (linear)" in text
    assert "my_layers (" not in text, "all its cells fit the same"
    lines = legend(results)
    assert lines[0] == "my_layers: mlp(32; tanh)"
    assert "rls: mlp(3; tanh)" in lines
    assert any(line.startswith("% over PCA: ") for line in lines)
    assert lines[-1].startswith("n/a: not applicable")
