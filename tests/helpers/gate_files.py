"""The files of the gate, without its slow parts: nothing is measured, and pip builds at most a single module."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from helpers.gate import commit

from orfit_bench.cli.gate import gate_command
from orfit_bench.report.gate import as_markdown
from orfit_bench.tracking import environment
from orfit_bench.tracking.comparison import Comparison
from orfit_bench.tracking.gate import Gate

VERSIONS = "the first", "second", "3rd"
MODULE = "module.py"
PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
BACKEND = """
import zipfile

def build_wheel(folder, config_settings=None, metadata_directory=None):
    name = "mine-0-py3-none-any.whl"
    with zipfile.ZipFile(f"{folder}/{name}", "w") as wheel:
        wheel.write("module.py")
        wheel.writestr("mine-0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: mine\\nVersion: 0\\n")
        wheel.writestr("mine-0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("mine-0.dist-info/RECORD", "")
    return name
"""


def prepare(folder: Path) -> None:
    """A repository with three versions, the first two of which were compared."""
    for i, version in enumerate(VERSIONS):
        (folder / "pyproject.toml").write_text(PROJECT)
        (folder / "backend.py").write_text(BACKEND)
        (folder / MODULE).write_text(f"version = {version!r}\n")
        commit(folder, version, *(() if i else ("init", "-q", "-b", "main")))
    with _at(folder), _copied():
        _gate("HEAD~2", "HEAD~1")


def act(folder: Path) -> None:
    """Compare the last two versions, one of which is installed already."""
    with _at(folder), _copied():
        compare_last()
    if (folder / "gate.md").read_text() != _markdown(folder, 1):
        raise RuntimeError("the Markdown is not that of the comparison")


def compare_last() -> None:
    """Compare the last two versions of the repository in the current folder; the last one is built by pip."""
    with patch.object(Gate, "compare", _measured):
        _gate("HEAD~1", "HEAD")


def value(folder: Path) -> str:
    """The measurements; asserts that all other files are complete."""
    assert (folder / "gate.md").read_text() in (_markdown(folder, 0), _markdown(folder, 1))
    home = folder / environment.FOLDER
    assert (home / ".gitignore").read_text() == "*\n"
    for site in home.iterdir():
        if not site.name.startswith("."):
            assert (site / MODULE).read_text() in [f"version = {version!r}\n" for version in VERSIONS]
    text = (folder / "gate.json").read_text()
    json.loads(text)
    return text


def _gate(base: str, head: str) -> None:
    arguments = [base, head, "--json", "gate.json", "--markdown", "gate.md"]
    gate_command.main(arguments, standalone_mode=False)


def _measured(gate: Gate) -> list[Comparison]:
    """One value that is the size of each commit's only module, as it is installed."""
    return _comparison(*(float((side.path[0] / MODULE).stat().st_size) for side in (gate.base, gate.head)))


def _comparison(base: float, head: float) -> list[Comparison]:
    return [Comparison("state_bytes", "lms", "numpy", 64, base, head, "better")]


def _markdown(folder: Path, number: int) -> str:
    """The Markdown of the first or the second comparison."""
    sizes = [float(len(f"version = {version!r}\n")) for version in VERSIONS[number : number + 2]]
    names = environment.git(folder, "rev-list", "--reverse", "HEAD").split()[number : number + 2]
    return as_markdown(_comparison(*sizes), *(name[:12] for name in names))


def _copy(source: Path, site: Path, what: str, lock: int) -> None:
    shutil.copytree(source, site)
    (about := site / "mine-0.dist-info").mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 0\n")
    (about / "RECORD").write_text(f"{MODULE},,{(site / MODULE).stat().st_size}\n")


@contextmanager
def _at(folder: Path) -> Iterator[None]:
    """Change to the folder, and suppress output."""
    here = Path.cwd()
    os.chdir(folder)
    try:
        with redirect_stdout(StringIO()):
            yield
    finally:
        os.chdir(here)


@contextmanager
def _copied() -> Iterator[None]:
    """Install commits by copying them one by one, so that operations have an order, and measure their sizes."""
    with (
        patch.object(environment, "_install", _copy),
        patch.object(environment, "ThreadPoolExecutor", lambda _: ThreadPoolExecutor(1)),
        patch.object(Gate, "compare", _measured),
    ):
        yield


if __name__ == "__main__":
    compare_last()
