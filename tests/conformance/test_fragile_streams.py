"""Streams and metrics that hang, crash or exit affect neither the kit nor each other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.distributions import python, write

pytestmark = pytest.mark.integration
PLUGIN = """
import os, sys, time
import numpy as np
from orfit_bench import hookimpl
from orfit_bench.spec import Data, Stream

SPEC_VERSION = (1, 0)

def fine():
    return Data(np.eye(3), np.ones(3))

@hookimpl
def streams():
    acts = {"waits": lambda: time.sleep(600), "aborts": os.abort, "leaves": lambda: sys.exit(0), "is_fine": fine}
    return [Stream(name, "", make=act) for name, act in acts.items()]
"""


def test_each_is_named_and_all_others_are_checked(tmp_path: Path) -> None:
    site, report = write(tmp_path, "fragile_streams", PLUGIN), tmp_path / "report.json"
    arguments = ("-m", "orfit_bench", "conform", "fragile_streams", "lms", "--backend", "numpy", "--check", "one_row")
    done = python(*arguments, "--timeout", "8", "--json", str(report), site=site)
    assert done.returncode == 1, done.stderr
    assert "stream 'waits': stopped after 8 s" in done.stdout
    assert "stream 'aborts': the worker process was killed by signal 6" in done.stdout
    assert "stream 'leaves': raised SystemExit: 0" in done.stdout
    assert "is_fine" not in done.stdout
    assert {result["status"] for result in json.loads(report.read_text())["results"]} == {"passed"}
