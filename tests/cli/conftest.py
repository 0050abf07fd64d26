"""Fixtures of the tests in this folder."""

import os

import pytest
from helpers.commands import PLUGIN, install


@pytest.fixture
def environment(tmp_path):
    """The environment of a process that has the faulty plugin installed."""
    install(tmp_path / "site", "faulty", PLUGIN)
    path = os.pathsep.join(filter(None, [str(tmp_path / "site"), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "FAULTY_LOG": str(tmp_path / "log")}
