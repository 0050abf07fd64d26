"""A run of `orfit-bench conform` on faulty kernels."""

import json
import os

import pytest
from helpers.conform import call, install


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A folder, and the environment of a process that has the plugin installed."""
    folder = tmp_path_factory.mktemp("conform")
    install(folder / "site")
    path = os.pathsep.join(filter(None, [str(folder / "site"), os.environ.get("PYTHONPATH")]))
    return folder, {**os.environ, "PYTHONPATH": path, "FRAGILE_LOG": str(folder / "log")}


@pytest.fixture(scope="module")
def ran(here):
    """Every kernel of the plugin under two checks, with all files written."""
    files = "--json", "all.json", "--junit", "all.xml", "--markdown", "all.md"
    checks = "--check", "any_chunking", "--check", "row_by_row"
    return call(here, "conform", "fragile", *checks, "--dtype", "float64", "--timeout", "3", "--workers", "2", *files)


@pytest.fixture(scope="module")
def report(here, ran):
    """The JSON of that run."""
    return json.loads((here[0] / "all.json").read_text())
