"""The command `python3 dev.py gpu`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.gpu import __main__ as command
from benchmarks.gpu import options
from benchmarks.gpu.units import DONE, FAILED, Journal

ROOT = Path(options.__file__).resolve().parents[2]
STANDIN = Path(__file__).resolve().parent / "standin"


def test_without_a_device_it_says_why(monkeypatch):
    monkeypatch.setattr(command, "Worker", lambda: Silent())
    with pytest.raises(SystemExit, match="cupy: no CUDA device"):
        command.machine("cupy", 1.0)


class Silent:
    """A process that finds no device."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def do(self, unit, seconds, keep):
        keep({"reason": "no CUDA device"})
        return DONE, ""


@pytest.mark.slow
def test_all_parts_in_place_of_a_device(tmp_path):
    environment = os.environ | {"PYTHONPATH": str(STANDIN)}
    asked = ["--sizes", "small", "--methods", "rls", "--cases", "rls", "--minutes", "5", "--output", str(tmp_path)]
    call = [sys.executable, str(ROOT / "dev.py"), "gpu", *asked]
    done = subprocess.run(call, env=environment, capture_output=True, text=True, check=False)
    found = {path.stem: Journal(path).found() for path in tmp_path.glob("*.jsonl")}
    assert {*found} == {*options.PARTS} - {"page", "end-states"}, done.stdout + done.stderr  # those are of ridge
    assert found["look"].pop("libraries").status == FAILED  # the stand-in has none
    assert [(name, one.why) for of in found.values() for name, one in of.items() if one.status != DONE] == []
    text = (tmp_path / "gpu.md").read_text()
    assert "no figure here says anything" in text
    assert "The kit in float32, of 1 methods, seed 0: 3 passed" in text
    measured = (tmp_path / "tables.jsonl").read_text()
    subprocess.run(call, env=environment, capture_output=True, check=False)
    assert (tmp_path / "tables.jsonl").read_text() == measured
