"""The launch of `python3 dev.py gpu`: its options, and the packages that it needs on the machine."""

import argparse
import os
import subprocess
import sys
import zipfile
from importlib.metadata import distributions
from pathlib import Path

import pytest

from benchmarks.gpu import __main__ as command
from benchmarks.gpu import distributions as own
from benchmarks.gpu import launch, options

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]


def test_compiled_kernels_that_are_gone_are_compiled_again(tmp_path, monkeypatch):
    monkeypatch.delenv("CUPY_CACHE_DIR", raising=False)
    for kept in (False, True):
        (tmp_path / "warm.jsonl").touch()
        command.start_cold(tmp_path)
        assert (tmp_path / "warm.jsonl").exists() == kept


def test_metadata_takes_the_place_of_an_installation(tmp_path):
    own.write_metadata(tmp_path)
    found = {d.name: d for d in distributions(path=[str(tmp_path)])}
    assert {*found} == {"orfit-bench", *(f"orfit-bench-{name}" for name in ("cupy", "numba", "numpy", "papers"))}
    points = {(p.group, p.name, p.value) for d in found.values() for p in d.entry_points}
    assert ("orfit_bench", "cupy", "orfit_bench_cupy") in points
    assert ("orfit_bench", "catalogue", "orfit_bench.catalogue") in points
    assert ("console_scripts", "orfit-bench", "orfit_bench.cli:main") in points


def test_required_distributions():
    needed = own.requirements()
    assert needed["numpy"] == "2.1"
    assert {"scipy", "numba", "pebble", "threadpoolctl"} < {*needed}
    assert not [name for name in needed if name.startswith("orfit")]


def test_missing_packages_of_an_interpreter_are_named(tmp_path):
    one = launch.inspect_interpreter(sys.executable, {"numpy": "99.1", "no_such": "", "json": ""}, {**os.environ})
    assert one.wrong["numpy"].endswith("required 99.1")
    assert "No module named 'no_such'" in one.wrong["no_such"]
    assert len(one.wrong) == 2
    assert "--wheels FOLDER" in launch.advice(one, "python3 dev.py gpu")
    assert "cupy-cuda13x[ctk]" in launch.advice(one._replace(wrong={"cupy": "no"}), "")
    assert launch.inspect_interpreter(str(tmp_path / "none"), {}, {}).wrong


def test_wheels_are_taken_from_a_folder(tmp_path):
    target = tmp_path / "packages"
    with zipfile.ZipFile(tmp_path / "tiny_thing-1.0-py3-none-any.whl", "w") as wheel:
        record = "tiny_thing-1.0.dist-info"
        wheel.writestr("tiny_thing.py", "")
        wheel.writestr(f"{record}/METADATA", "Metadata-Version: 2.1\nName: tiny-thing\nVersion: 1.0\n")
        wheel.writestr(f"{record}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{record}/RECORD", "")
    environment = os.environ | {"PYTHONPATH": str(target)}
    wanted = {"tiny_thing": ""}
    before = launch.inspect_interpreter(sys.executable, wanted, environment)
    assert before.wrong
    launch.install(before, tmp_path, target, environment)
    assert not launch.inspect_interpreter(sys.executable, wanted, environment).wrong


@pytest.mark.parametrize("wrong", [["looks"], ["--workers", "0"], ["--minutes", "0"], ["--wheels", "/no/such/folder"]])
def test_wrong_words_are_refused(wrong, capsys):
    with pytest.raises(SystemExit) as ended:
        options.parsed(wrong)
    assert ended.value.code == 2
    assert "error" in capsys.readouterr().err


def test_unknown_methods_and_cases_are_refused():
    for chosen in ({"methods": ["lsm"], "cases": []}, {"methods": [], "cases": ["no such"]}):
        with pytest.raises(SystemExit) as ended:
            command.refuse_unknown(argparse.Namespace(**chosen))
        assert ended.value.code == 2
    command.refuse_unknown(argparse.Namespace(methods=["lms"], cases=["transition"]))


def test_words_and_options_in_any_order():
    found = options.parsed(["look", "--minutes", "2", "tables", "--methods", "rls,lms"])
    assert (found.parts, found.minutes, found.methods) == (["look", "tables"], 2.0, ["rls", "lms"])


def test_the_word_lists_its_parts(tmp_path):
    call = [sys.executable, "dev.py", "gpu", "--list", "--methods", "rls", "--output", str(tmp_path / "out")]
    stated = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert [line.split()[0] for line in stated.splitlines() if line[0] != " "][:6] == [*options.PARTS][:6]
    assert "check-float64  1 left" in stated
    assert "what is left:" in stated
