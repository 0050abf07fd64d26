"""Follow the tutorial: write its files over a new plugin, and run the kit and the Python code of the page."""

from __future__ import annotations

import doctest
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.distributions import install, python

from orfit_bench.new_plugin import write

pytestmark = pytest.mark.integration

TABLES = Path(__file__).resolve().parents[2] / "docs/tutorial-tables.md"
TEXT = (Path(__file__).resolve().parents[2] / "docs/tutorial.md").read_text()
FILES = dict(re.findall(r"^Replace `([^`]+)`:\n\n```python\n(.*?)```", TEXT, re.S | re.M))
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.S)
KIT, NOTEBOOK = BLOCKS[len(FILES) :]
SUMMARY = "\nassert report.passed, report\nassert report.counts['passed'] > 40\nassert not report.counts['skipped']\n"


def test_the_python_of_the_tutorial_on_tables_runs() -> None:
    page = str(TABLES)
    failed, tried = doctest.testfile(page, module_relative=False, optionflags=doctest.ELLIPSIS)
    assert (failed, tried > 25) == (0, True)


def test_the_python_of_the_tutorial_on_uncertainty_runs() -> None:
    failed, tried = doctest.testfile(str(TABLES.with_name("tutorial-uncertainty.md")), module_relative=False)
    assert (failed, tried > 35) == (0, True)


def test_the_page_on_signals_runs() -> None:
    failed, tried = doctest.testfile(str(TABLES.with_name("tutorial-signals.md")), module_relative=False)
    assert (failed, tried > 25) == (0, True)


def test_the_tutorial_on_networks_runs() -> None:
    failed, tried = doctest.testfile(str(TABLES.with_name("tutorial-networks.md")), module_relative=False)
    assert (failed, tried > 40) == (0, True)


def test_the_command_of_the_tutorial_on_tables_works(tmp_path: Path) -> None:
    (command,) = re.findall(r"^orfit-bench (run .*)$", TABLES.read_text(), re.M)
    n = 60
    rides = pd.DataFrame({"pickup": pd.date_range("2026-01-01", periods=n, freq="min"), "distance": np.arange(n) / n})
    rides = rides.assign(zone=["airport", "centre", "harbour"] * (n // 3), fare=2 * rides["distance"])
    rides.to_parquet(tmp_path / "rides.parquet")
    done = python("-m", "orfit_bench", *command.split(), "--backend", "numpy", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "rides.parquet" in done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin of the tutorial, found as if it were installed."""
    folder = tmp_path_factory.mktemp("tutorial") / "frequent-directions"
    write("frequent-directions", folder=folder)
    for name, text in FILES.items():
        assert (folder / name).exists()
        (folder / name).write_text(text)
    return install(folder)


def test_tutorial_is_short_and_names_its_commands() -> None:
    assert list(FILES) == [f"src/frequent_directions/{name}.py" for name in ("kernel", "method")]
    assert sum(len(text.splitlines()) for text in FILES.values()) < 110
    assert "orfit-bench new-plugin frequent-directions" in TEXT


def test_the_plugin_of_the_page_conforms(site: Path) -> None:
    done = python("-c", KIT + SUMMARY, site=site)
    assert done.returncode == 0, done.stderr
    (shown,) = re.findall(r"```text\nTrue (.*?)\n", TEXT)
    assert done.stdout.splitlines()[0].removeprefix("True ") == shown
    assert re.findall(r"^\w+ \w+", done.stdout, re.M) == re.findall(r"^law_\w+ \w+(?=: off by)", TEXT, re.M)


@pytest.mark.slow
def test_the_laws_fail_where_the_page_says_so(site: Path, tmp_path: Path) -> None:
    (line,) = re.findall(r"`(lengths = [^`]+)`", TEXT)
    broken = shutil.copytree(site, tmp_path / "broken")
    kernel = broken / "frequent_directions/kernel.py"
    kernel.write_text(re.sub(r"lengths = np\.sqrt.*", line, kernel.read_text()))
    failed = (
        "for r in report.results:\n    if r.status == 'failed': print(f'{r.check} {r.dtype} {r.status}: {r.reason}')\n"
    )
    done = python("-c", KIT + failed, site=broken)
    pattern = r"^(law_\w+ float64 failed: with the default settings: off by \S+ allowed \S+ \(data set .*\))$"
    stated = re.compile(pattern, re.M)
    assert stated.findall(done.stdout) == stated.findall(TEXT)
    assert len(stated.findall(TEXT)) == 2


def test_the_commands_of_the_page_work(site: Path, tmp_path: Path) -> None:
    commands = re.findall(r"^orfit-bench ((?:list|run) .*)$", TEXT, re.M)
    assert len(commands) == 2
    for command in commands:
        more = ["--rows", "60"] if command.startswith("run") else []
        done = python("-m", "orfit_bench", *command.split(), *more, site=site, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "frequent_directions" in done.stdout


@pytest.mark.slow
def test_the_cells_of_the_page_conform_without_packaging() -> None:
    cells = [re.sub(r"^from frequent_directions.*\n", "", text, flags=re.M) for text in FILES.values()]
    code = f"cells = {[*cells, NOTEBOOK + SUMMARY]!r}\nnames = {{}}\nfor cell in cells: exec(cell, names)\n"
    done = python("-c", code)
    assert done.returncode == 0, done.stderr
