"""The commands for developers, as far as they do not need a separate environment."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dev

ROOT = Path(__file__).parents[2]
PROGRAM = """
import os, sys, time
import dev

def note(text):
    os.write(1, (text + "\\n").encode())

with dev.alone():
    note("begin")
    time.sleep(0.5)
    note("end")
"""


@pytest.mark.skipif(os.name == "nt", reason="needs a lock that Windows has not")
def test_commands_set_up_the_environment_one_after_the_other(tmp_path):
    where = os.environ | {"PYTHONPATH": str(ROOT), "ORFIT_BENCH_VENV": str(tmp_path / "environments" / "venv")}
    record = tmp_path / "record.txt"
    with record.open("ab") as out:
        commands = [subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=out, env=where) for _ in range(3)]
        assert [command.wait(timeout=60) for command in commands] == [0, 0, 0]
    assert record.read_text().split() == ["begin", "end"] * 3


@pytest.mark.parametrize(
    ("packages", "editable"), [("lib/python3.11/site-packages", True), ("Lib/site-packages", False)]
)
def test_a_copy_of_the_checkout_is_known(packages, editable, tmp_path, monkeypatch):
    monkeypatch.setattr(dev, "HOME", tmp_path)
    assert not dev.is_editable()
    (info := tmp_path / packages / "orfit_bench-0.1.0.dist-info").mkdir(parents=True)
    (info / "direct_url.json").write_text(
        json.dumps({"url": "file:///x", "dir_info": {"editable": True} if editable else {}})
    )
    assert dev.is_editable() == editable
