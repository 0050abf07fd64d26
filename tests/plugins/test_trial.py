"""Plugins that end, crash or block the process that imports them."""

import multiprocessing
import os
import time
from importlib.metadata import distributions
from pathlib import Path

import pytest
from helpers.commands import install

from orfit_bench.jobs.files import cache_folder
from orfit_bench.plugins import discovery, loading_marks, trial, trial_results
from orfit_bench.plugins.trial_results import Tried


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return tmp_path / "site"


def points(site):
    return sorted((p for d in distributions(path=[str(site)]) for p in d.entry_points), key=lambda p: p.name)


def reasons(site):
    with trial.tried(points(site)) as failed:
        return {point.name: reason.partition("; it is tried again")[0] for point, reason in failed.items()}


@pytest.fixture
def tries(monkeypatch):
    """A list to which the name of each tried plugin is added."""
    names, tried = [], trial._try
    monkeypatch.setattr(trial, "_try", lambda new: names.extend(p.name for p in new) or tried(new))
    return names


def test_each_way_to_end_a_process_is_named(site):
    install(site, "a_exit", "import os; os._exit(0)")
    install(site, "b_raises", "raise SystemExit(3)")
    install(site, "c_crash", "import ctypes; print('so far'); ctypes.string_at(0)")
    install(site, "d_uses_plugins", "import orfit_bench; orfit_bench.methods()")
    assert reasons(site) == {
        "a_exit": "its import ended the process with exit code 0",
        "c_crash": "its import crashed the process (SIGSEGV), after it printed: so far",
    }


def test_a_plugin_that_replaces_functions_of_others(site):
    """It replaces functions of NumPy, of this package, and of a plugin whose module it loads itself."""
    install(site, "a_numpy", "import numpy; numpy.isfinite = lambda x: True")
    install(site, "b_host", "import orfit_bench.spec; orfit_bench.spec.deviation = lambda a, b: 0.0")
    install(site, "c_imports", "from orfit_bench_numpy.lms import learn; from numpy import sqrt; import orfit_bench")
    install(site, "d_other", "import orfit_bench_numpy.lms as lms; lms.learn = lambda s, X, Y, p, out: len(X)")
    install(site, "e_own", "import e_own, numpy; e_own.other = len; numpy.my_function = len")
    text = "its import replaces functions outside of it: "
    assert reasons(site) == {
        "a_numpy": f"{text}numpy.isfinite",
        "b_host": f"{text}orfit_bench.spec.deviation",
        "d_other": f"{text}orfit_bench_numpy.lms.learn",
    }


def test_a_plugin_with_odd_objects_is_no_plugin_that_replaces_functions(site):
    install(site, "a_host", "def helper(): pass\ntry:\n    import b_extra\nexcept ImportError:\n    pass")
    install(site, "b_extra", "from a_host import helper")
    install(site, "c_calls", "from unittest.mock import call")
    proxy = "class Proxy:\n    def __call__(self): pass\n    def __getattr__(self, name): raise RuntimeError(name)\n"
    install(site, "d_proxy", f"{proxy}request = Proxy()")
    install(site, "e_adds", "import sys\nclass Odd:\n    __slots__ = ()\nsys.modules['e_adds.odd'] = Odd()")
    assert reasons(site) == {}


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


THREAD = "import threading, time; threading.Thread(target=time.sleep, args=({},), daemon={}, name='mine').start()"


def test_plugins_that_spoil_the_end_of_a_process(site):
    install(site, "a_thread", THREAD.format(100, False))
    install(site, "b_daemon", THREAD.format(100, True))
    install(site, "c_short", THREAD.format(0.5, False))
    install(site, "d_idle", "from concurrent.futures import *; pool = ThreadPoolExecutor(1); pool.submit(int).result()")
    install(site, "e_errors", "import sys; sys.stderr.close()")
    install(site, "f_output", "import sys; sys.__stdout__.close()")
    install(site, "g_number", "import os; os.close(1)")
    install(site, "h_lent", "import sys; sys.stdout.close()")
    assert reasons(site) == {
        "a_thread": "its import leaves a thread behind that keeps processes from ending: mine",
        "e_errors": "its import closes sys.stderr",
        "f_output": "its import closes sys.stdout",
        "g_number": "its import closes the descriptor of stdout",
    }


@pytest.mark.parametrize(
    "code",
    [
        "print('HELLO')",
        "import sys; sys.stdout.buffer.write(b'HELLO'); sys.stdout.reconfigure(encoding='utf-8')",
        "import sys, io; sys.stdout = io.TextIOWrapper(sys.stdout.buffer, 'utf-8'); print('HELLO', flush=True)",
        "import sys; print('HELLO'); sys.stdout.close()",
    ],
)
def test_what_a_plugin_prints_goes_to_stderr(site, capsys, code):
    install(site, f"prints_{len(code)}", code)
    (point,) = points(site)
    loaded = discovery.load(point.load, "prints", "", "")
    assert "declares no SPEC_VERSION" in loaded.reason
    print("a result")
    out, err = capsys.readouterr()
    assert out == "a result\n"
    assert err.strip() == "HELLO"


def test_a_plugin_that_leaves_the_folder(site, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    install(site, "a_leaves", "import os; os.chdir('/')")
    (point,) = points(site)
    discovery.load(point.load, point.name, "", "")
    assert Path.cwd() == tmp_path


def test_only_changed_plugins_are_tried_again(site, tries):
    install(site, "one", "import os; os._exit(3)")
    install(site, "two", "")
    for _ in range(2):
        assert reasons(site) == {"one": "its import ended the process with exit code 3"}
    assert tries == ["one", "two"]
    tries.clear()
    (site / "one.py").write_text("repaired = True")
    assert reasons(site) == {}
    assert tries == ["one"]


def test_a_failure_is_tried_again_since_its_cause_may_lie_elsewhere(site, tries, monkeypatch):
    monkeypatch.setenv("FATAL", "yes")
    install(site, "one", "import os\nif 'FATAL' in os.environ: os._exit(3)")
    with trial.tried(points(site)) as failed:
        (reason,) = failed.values()
    assert reason.endswith("exit code 3; it is tried again after 60 s, or once its files or requirements change")
    monkeypatch.delenv("FATAL")
    assert list(reasons(site)) == ["one"]
    assert tries == ["one"]
    monkeypatch.setattr(trial_results, "SHORTEST", 0.0)
    monkeypatch.setattr(trial_results, "TIMES", 0.0)
    assert reasons(site) == {}
    assert tries == ["one", "one"]


def test_a_slow_trial_is_repeated_seldom():
    assert "tried again after 60 minutes," in Tried("it hangs", time.time(), 60.0).text()
    assert Tried("it hangs", time.time() - 3000, 60.0).holds()
    assert not Tried("it hangs", time.time() - 4000, 60.0).holds()
    assert not Tried("it hangs", time.time() + 100, 60.0).holds()  # a clock was set back
    assert Tried().holds()


def test_compiled_files_and_requirements_count_as_the_plugin(site, tries):
    install(site, "needs", "")
    install(site, "helping", "")
    (site / "needs.py").unlink()
    (site / "needs").mkdir()
    for name in ("__init__.py", "fast.so"):
        (site / "needs" / name).write_text("")
    (metadata,) = site.glob("needs-*/METADATA")
    metadata.write_text(f"{metadata.read_text()}Requires-Dist: helping >=0.1\nRequires-Dist: no-such-thing\n")
    for change in (
        lambda: None,
        lambda: (site / "needs" / "fast.so").write_text("longer"),
        lambda: (site / "helping-0.1.dist-info").rename(site / "helping-0.2.dist-info"),
    ):
        change()
        tries.clear()
        for _ in range(2):
            assert reasons(site) == {}
        assert tries.count("needs") == 1


def die(folder):
    with loading_marks.marked(folder, ["a key"]):
        os._exit(7)


def test_a_process_that_ended_while_it_loaded_names_what_it_loaded(tmp_path):
    process = multiprocessing.get_context("fork").Process(target=die, args=(tmp_path,))
    process.start()
    process.join()
    assert process.exitcode == 7
    assert loading_marks.take_left(tmp_path) == {"a key"}
    with loading_marks.marked(tmp_path, ["another"]):
        assert loading_marks.take_left(tmp_path / "missing") == set()
    (tmp_path / str(os.getppid())).write_text('["of a process that runs"]')
    assert loading_marks.take_left(tmp_path) == set()


def test_a_plugin_that_later_ends_the_process_is_named_by_the_next(site, monkeypatch):
    install(site, "one", "import os\nif 'FATAL' in os.environ: os._exit(3)")
    assert reasons(site) == {}
    monkeypatch.setenv("FATAL", "yes")
    assert reasons(site) == {}
    left = cache_folder() / "loading" / "999999999"
    left.write_text(f'["{trial_results.key_of(points(site)[0], trial_results.installed())}"]')
    assert reasons(site) == {"one": "its import ended the process with exit code 3"}
    assert not left.exists()


def test_a_damaged_file_is_replaced(site):
    install(site, "three", "")
    for text in ("{", "[1]", '{"a": 1}'):
        trial_results._file().parent.mkdir(parents=True, exist_ok=True)
        trial_results._file().write_text(text)
        assert reasons(site) == {}


@pytest.mark.slow
def test_the_time_of_earlier_plugins_does_not_count(site, monkeypatch):
    monkeypatch.setattr(trial, "SECONDS", 4.0)
    for name in ("a", "b", "c"):
        install(site, name, "import time; time.sleep(2)")
    assert reasons(site) == {}
