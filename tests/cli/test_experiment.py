"""Experiments of papers come with plugins: their declarations, and how the command uses them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

import orfit_bench as ob
from orfit_bench.cli import main
from orfit_bench.plugins import registry as registry_module
from orfit_bench.plugins.registry import Registry, registry
from orfit_bench.spec import Experiment, Reproduced, Request

FIGURE = Experiment("figure-1", "a paper, Figure 1", "a curve", 5, "papers_of_tests:run", ("digits", "mnist"))
ASKED: list[tuple[Experiment, Request]] = []


def run(experiment: Experiment, request: Request) -> Reproduced:
    """Reuse one cell, compute one, and store the request in ASKED."""
    ASKED.append((experiment, request))
    request.progress(1, 2, "")
    request.progress(2, 2, "second")
    files = Reproduced(request.folder / "figure-1.nc", request.folder / "figure-1.html")
    for path in files:
        path.touch()
    return files


def end(experiment: Experiment, request: Request) -> Reproduced:
    raise SystemExit(0)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["reproduce", *arguments])


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A plugin with one experiment; no other plugin has any."""
    others = [p for p in registry().plugins if not p.offers.get("experiments")]
    monkeypatch.setattr(registry_module, "_registry", Registry(others))
    monkeypatch.setitem(sys.modules, "papers_of_tests", SimpleNamespace(run=run))  # type: ignore[misc]
    ASKED.clear()
    created = SimpleNamespace(
        SPEC_VERSION=(1, 0), experiments=ob.hookimpl(lambda: (FIGURE,)), __name__="papers_of_tests"
    )
    created.experiments.__name__ = "experiments"
    ob.register(created)
    yield
    ob.unregister(created)


@pytest.mark.usefixtures("plugin")
class TestCommand:
    def test_experiments_of_plugins_are_listed(self) -> None:
        result = invoke()
        assert result.exit_code == 0
        for text in (FIGURE.name, FIGURE.source, FIGURE.summary, "digits, mnist", "5 s"):
            assert text in result.output

    def test_hands_the_options_to_the_runner(self, tmp_path: Path) -> None:
        result = invoke("figure-1", "--data", "mnist", "--runs", "3", "--fresh", "--output", str(tmp_path))
        assert result.exit_code == 0, result.output
        assert f"Results: {tmp_path / 'figure-1.nc'}. Page: {tmp_path / 'figure-1.html'}" in result.output
        assert "resuming: 1 of 2 cells are already finished" in result.output
        ((experiment, request),) = ASKED
        assert experiment is FIGURE
        assert (request.folder, request.data, request.runs, request.fresh) == (tmp_path, "mnist", 3, True)

    def test_options_of_one_experiment_need_its_name(self) -> None:
        for options in (("--data", "mnist"), ("--runs", "3"), ("--fresh",)):
            result = invoke(*options)
            assert result.exit_code == 2
            assert "are for one experiment: want its NAME" in result.output

    def test_suggests_the_nearest_name(self) -> None:
        result = invoke("figure-2")
        assert result.exit_code == 2
        assert "Did you mean 'figure-1'?" in result.output

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (("--data", "cifar10"), "experiment figure-1: data='cifar10', want one of digits, mnist"),
            (("--runs", "0"), "experiment figure-1: runs=0, want an integer in [1, inf)"),
        ],
    )
    def test_refuses_what_the_experiment_does_not_declare(self, options: tuple[str, ...], message: str) -> None:
        result = invoke("figure-1", *options)
        assert result.exit_code == 2
        assert message in " ".join(result.output.split())
        assert not ASKED

    @pytest.mark.parametrize(
        ("runner", "message"),
        [
            (end, "raised SystemExit: 0"),
            (lambda experiment, request: None, "returned None, want a Reproduced with the paths of two files"),
            (
                lambda experiment, request: Reproduced(Path("no.nc"), Path("no.html")),
                "want a Reproduced with the paths of two files",
            ),
        ],
    )
    def test_names_a_runner_that_writes_no_files(
        self, runner: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "papers_of_tests", SimpleNamespace(run=runner))  # type: ignore[misc]
        result = invoke("figure-1", "--output", str(tmp_path))
        assert result.exit_code == 1
        text = " ".join(result.output.split())
        assert "experiment figure-1: its runner 'papers_of_tests:run'" in text
        assert message in text

    def test_reports_a_runner_that_cannot_be_imported(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delitem(sys.modules, "papers_of_tests")
        result = invoke("figure-1")
        assert result.exit_code == 2
        assert "cannot be imported: ModuleNotFoundError: No module named 'papers_of_tests'" in result.output


@pytest.mark.parametrize("arguments", [(), ("orfit-rotated-digits",)])
def test_without_an_experiment_the_command_says_how_to_get_some(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [p for p in registry().plugins if not p.offers.get("experiments")]
    monkeypatch.setattr(registry_module, "_registry", Registry(others))
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert "no experiment is installed: install the distribution orfit-bench-papers" in result.output


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("name", "", TypeError),
        ("source", None, TypeError),
        ("runner", "package.module", ValueError),
        ("runner", "package:a-b", ValueError),
        ("runner", "package:a:b", ValueError),
        ("runner", "package:Class.run", ValueError),
        ("seconds", -1, ValueError),
        ("data", "digits", TypeError),
        ("data", (1,), TypeError),
    ],
)
def test_a_declaration_that_could_not_be_run_is_refused(field: str, value: Any, error: type[Exception]) -> None:
    fields = {name: getattr(FIGURE, name) for name in Experiment.__slots__}
    with pytest.raises(error, match=f"{field}="):
        Experiment(**{**fields, field: value})


def test_without_a_terminal_each_finished_cell_is_a_line(plugin: None, tmp_path: Path) -> None:
    assert "[2/2] second" in invoke("figure-1", "--output", str(tmp_path)).output
