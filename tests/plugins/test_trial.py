"""Plugins that end, crash or block the process that imports them."""

import time
from importlib.metadata import distributions
from pathlib import Path

import pytest
from helpers.commands import install

from orfit_bench.plugins import discovery, trial


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return tmp_path / "site"


def points(site):
    return sorted((p for d in distributions(path=[str(site)]) for p in d.entry_points), key=lambda p: p.name)


def reasons(site):
    return {point.name: reason for point, reason in trial.failures(points(site)).items()}


def test_each_way_to_end_a_process_is_named(site):
    install(site, "a_exit", "import os; os._exit(0)")
    install(site, "b_raises", "raise SystemExit(3)")
    install(site, "c_crash", "import ctypes; print('so far'); ctypes.string_at(0)")
    install(site, "d_uses_plugins", "import orfit_bench; orfit_bench.methods()")
    assert reasons(site) == {
        "a_exit": "its import ended the process with exit code 0",
        "c_crash": "its import crashed the process (SIGSEGV), after it printed: so far",
    }


@pytest.mark.slow
def test_a_plugin_that_hangs(site, monkeypatch):
    monkeypatch.setattr(trial, "SECONDS", 3.0)
    install(site, "a_hang", "while True: pass")
    install(site, "b_fine", "")
    assert reasons(site) == {"a_hang": "its import did not finish in 3 s"}


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import os, time\nos.fork() or time.sleep(100)", ""),
        ("import os, time\nif os.fork(): time.sleep(100)\ntime.sleep(100)", "its import did not finish in 3 s"),
        ("import subprocess; subprocess.Popen(['sleep', '100'])", ""),
    ],
)
def test_a_plugin_that_starts_processes(site, monkeypatch, code, reason):
    monkeypatch.setattr(trial, "SECONDS", 3.0)
    install(site, "a_starts", code)
    install(site, "b_fine", "")
    began = time.monotonic()
    assert reasons(site) == ({"a_starts": reason} if reason else {})
    assert time.monotonic() - began < 20


def test_a_plugin_that_leaves_the_folder(site, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    install(site, "a_leaves", "import os; os.chdir('/')")
    (point,) = points(site)
    discovery.load(point.load, point.name, "", "")
    assert Path.cwd() == tmp_path


def test_only_changed_plugins_are_tried_again(site, monkeypatch):
    install(site, "one", "import os; os._exit(3)")
    install(site, "two", "")
    assert reasons(site) == {"one": "its import ended the process with exit code 3"}
    tried = []
    monkeypatch.setattr(trial, "_try", lambda new: tried.extend(p.name for p in new) or dict.fromkeys(new, ""))
    assert list(reasons(site)) == ["one"]
    assert tried == []
    (site / "one.py").write_text("repaired = True")
    assert reasons(site) == {}
    assert tried == ["one"]


def test_a_damaged_file_is_replaced(site):
    install(site, "three", "")
    for text in ("{", "[1]", '{"a": 1}'):
        trial._file().parent.mkdir(parents=True, exist_ok=True)
        trial._file().write_text(text)
        assert reasons(site) == {}


@pytest.mark.slow
def test_the_time_of_earlier_plugins_does_not_count(site, monkeypatch):
    monkeypatch.setattr(trial, "SECONDS", 4.0)
    for name in ("a", "b", "c"):
        install(site, name, "import time; time.sleep(2)")
    assert reasons(site) == {}
