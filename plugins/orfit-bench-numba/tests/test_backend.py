"""Properties of a compiled backend that the kit does not see: when it compiles, what it caches, its memory."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import orfit_bench as ob
import orfit_bench_numba
from orfit_bench_numba import _compile, _gradient_fleets


def python(code, **environment):
    """The output of a new process."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


class TestCompiling:
    def test_waits_for_the_first_row(self):
        code = "import sys, orfit_bench as ob; ob.create('lms', backend='numba'); print('numba' in sys.modules)"
        listed = "import sys, orfit_bench as ob; ob.methods(), ob.backends(); print('numba' in sys.modules)"
        assert python(listed) == "False\n"
        assert python(code) == "True\n"

    @pytest.mark.slow
    def test_is_kept_for_later_processes_until_a_file_changes(self, tmp_path):
        package = Path(orfit_bench_numba.__file__).parent
        shutil.copytree(package, tmp_path / package.name, ignore=shutil.ignore_patterns("__pycache__"))
        path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
        where = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": path}
        code = """
import numpy as np, orfit_bench as ob
learner = ob.create("lms", backend="numba").partial_fit(np.ones((3, 2)), np.ones(3))
import orfit_bench_numba as plugin
versions = [v for f in plugin._functions(learner.rule.kernel) for v in f._versions.values()]
print(*(sum(sum(getattr(v.stats, name).values()) for v in versions) for name in ("cache_hits", "cache_misses")))
"""
        load = """
from orfit_bench.plugins.registry import registry
backend, kernel = registry().backends["numba"], registry().kernel("numba", "lms")
backend.load(kernel, "float64")
print(len(backend.compiled(kernel)))
"""
        first, second = (python(code, **where).split() for _ in range(2))
        helper = tmp_path / package.name / "_precision_guard.py"  # its functions are inlined in other modules
        state, text = helper.stat(), helper.read_text()
        helper.write_text(text.swapcase()[:4] + text[4:])  # as in a wheel whose files have no times
        os.utime(helper, ns=(state.st_atime_ns, state.st_mtime_ns))
        assert helper.stat().st_size == state.st_size
        assert python(load, **where) == "0\n"
        third, fourth = (python(code, **where).split() for _ in range(2))
        os.utime(helper)
        assert python(load, **where) == "2\n"
        fifth = python(code, **where).split()
        assert first == third == ["0", "2"]  # for several rows, and for a single row after them
        assert second == fourth == fifth == ["2", "0"]  # a later time of the same code changes nothing

    def test_does_without_a_folder(self, monkeypatch):
        def njit(**flags):
            raise RuntimeError("cannot cache function: no locator available")

        assert _compile._can_cache()
        monkeypatch.setattr(_compile.numba, "njit", njit)
        assert not _compile._can_cache()

    def test_nothing_is_compiled_ahead_that_cannot_be_kept(self, monkeypatch):
        monkeypatch.setitem(_compile.FLAGS, "cache", False)
        with pytest.raises(OSError, match="no folder for machine code can be written: set NUMBA_CACHE_DIR"):
            orfit_bench_numba.BACKEND.compile(ob.plugins.registry.registry().kernel("numba", "lms"), "float64")

    @pytest.mark.slow
    def test_may_be_killed(self, tmp_path):
        code = (
            "import numpy as np, orfit_bench as ob; ob.create('nlms', backend='numba').partial_fit(np.eye(2), [1, 2])"
        )
        for seconds in (0.8, 1.6, 2.4):
            with subprocess.Popen(
                [sys.executable, "-c", code], env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
            ) as one:
                time.sleep(seconds)
                one.send_signal(signal.SIGKILL)
        python(code, NUMBA_CACHE_DIR=str(tmp_path))

    def test_says_what_is_waited_for(self, monkeypatch, capsys, tmp_path):
        monkeypatch.setattr(_compile, "PATIENCE", 0.0)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)

        @_compile.compiled("w f")
        def slow(w, a):
            for j in range(len(w)):
                w[j] += a

        monkeypatch.setitem(_compile.FLAGS, "cache", False)
        w = np.zeros(2)
        slow(w, 1.0)
        assert w.tolist() == [1, 1]
        assert "for float64, once on this machine" in capsys.readouterr().err


class TestThreads:
    @pytest.mark.slow
    def test_blas_is_afterwards_as_it_was(self):
        code = """
import threading, numpy as np, orfit_bench as ob
from threadpoolctl import ThreadpoolController
X, y = np.random.default_rng(0).standard_normal((256, 410)), np.ones(256)
ob.create("rls", backend="numba").partial_fit(X[:2], y[:2])
with ThreadpoolController().select(user_api="blas").limit(limits=2):
    def learn():
        learner = ob.create("rls", backend="numba")
        for _ in range(10):
            learner.partial_fit(X, y)
    threads = [threading.Thread(target=learn) for _ in range(3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print({library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()})
"""
        assert python(code) == "{2}\n"

    def test_an_invalid_number_is_reported_before_learning(self, monkeypatch):
        monkeypatch.setenv("ORFIT_BENCH_THREADS", "two")
        with pytest.raises(ob.UnavailableError, match="ORFIT_BENCH_THREADS=two: want a number of threads"):
            ob.create("lms", backend="numba")


@pytest.mark.parametrize("method", ["lms", "icl"])
def test_arrays_begin_a_line_of_the_cache(method, tmp_path):
    rng = np.random.default_rng(0)
    learner = ob.create(method, backend="numba")
    for n in (1, 3, 20):
        learner.partial_fit(rng.standard_normal((n, 50)), np.ones(n))
    learner.save(tmp_path / "s.npz")
    for one in (learner, learner.copy(), ob.load(tmp_path / "s.npz"), ob.restore(learner.state(), backend="numba")):
        assert {
            getattr(one.live_state.arrays, f.name).ctypes.data % 64
            for f in one.rule.layout(one.live_state.sizes).fields
        } == {0}


PEAK = """
import ctypes, sys
from pathlib import Path
import numpy as np, orfit_bench as ob

method, d, n, settings = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), eval(sys.argv[4])
def learner(d):
    moving = {"transition": 0.9 * np.eye(d)[::-1], "process_noise": 0.1} if settings.pop("moving", 0) else {}
    return ob.create(method, backend="numba", **settings, **moving)
rng = np.random.default_rng(0)
full = dict(settings)
learner(600).partial_fit(rng.standard_normal((256, 600)), np.ones(256))  # compiled; BLAS has its buffers
settings = full
one = learner(d)
X, y = rng.standard_normal((n, d)), np.ones(n)
one.partial_fit(X[:0], y[:0])
if one.rule.layout(one.live_state.sizes).grows: one.partial_fit(X[:60], y[:60])
def peak():
    (line,) = [l for l in Path("/proc/self/status").read_text().splitlines() if l.startswith("VmHWM")]
    return int(line.split()[1]) * 1024
ctypes.CDLL(None).malloc_trim(0)
Path("/proc/self/clear_refs").write_text("5")  # resets the peak
before = peak()
one.partial_fit(X, y)
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak is Linux's")
@pytest.mark.parametrize(
    ("method", "d", "settings", "allowed"),
    [
        ("rls", 1500, {}, 2 * 256 * 1500),
        ("kalman", 1500, {}, 2 * 256 * 1500),
        ("kalman", 1000, {"moving": 1}, 2 * 1000**2),
        ("orfit", 60_000, {"memory": 40}, 2 * 64 * 60_000),
        ("icl", 60_000, {"memory": 40}, 2 * 64 * 60_000),
    ],
    ids=lambda value: str(value)[:12],
)
def test_a_chunk_allocates_two_blocks(method, d, settings, allowed):
    n = 8 if settings.get("moving") else 256 if d < 10_000 else 64
    done = subprocess.run(
        [sys.executable, "-c", PEAK, method, str(d), str(n), repr(settings)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) <= 8 * allowed + 4_000_000, "bytes beyond state and chunk; 4 MB are the process's own"


@pytest.mark.slow
def test_a_cache_that_cannot_be_read_is_named_and_replaced(tmp_path):
    code = "import numpy as np, orfit_bench as ob; ob.create('nlms', backend='numba').partial_fit(np.eye(2), [1, 2])"
    where = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=where, check=True)
    for damage in (b"", b"\x80\x04garbage"):
        for index in tmp_path.rglob("*.nbi"):
            index.write_bytes(damage)
        done = subprocess.run([sys.executable, "-c", code], env=where, check=True, capture_output=True, text=True)
        assert done.stderr.count("it was removed, and kernels are compiled again") == 1, done.stderr
        done = subprocess.run([sys.executable, "-c", code], env=where, check=True, capture_output=True, text=True)
        assert done.stderr == ""


def test_loading_compiles_nothing_and_finds_what_another_process_compiled(tmp_path):
    script = (
        "import sys, numpy as np\n"
        "from orfit_bench.plugins.registry import registry\n"
        "backend, kernel = registry().backends['numba'], registry().kernel('numba', 'greedy')\n"
        "getattr(backend, sys.argv[1])(kernel, sys.argv[2])\n"
        "print(len(backend.compiled(kernel)))\n"
    )

    def count(act: str, dtype: str) -> int:
        here = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        call = [sys.executable, "-c", script, act, dtype]
        return int(subprocess.run(call, env=here, capture_output=True, text=True, check=True).stdout)

    assert count("load", "float32") == 0
    assert count("compile", "float32") == count("load", "float32") > 0


class TestBorrowing:
    def test_parts_of_arguments_are_not_counted(self):
        learn_members = _gradient_fleets.learn_members
        signature = learn_members._signature(_compile.numba.float64)
        counts = []
        for function in (learn_members._function, _compile.borrowing(learn_members._function)):
            version = _compile.numba.njit(signature, **_compile.FLAGS | {"cache": False})(function)
            counts.append(version.inspect_llvm(version.signatures[0]).count("call void @NRT_incref"))
        assert counts[0] > 0
        assert counts[1] == 0

    def test_errors_name_the_line_of_the_function(self):
        @_compile.compiled("w f")
        def wrong(w, a):
            return w.no_such_thing + a

        line = wrong._function.__code__.co_firstlineno
        with pytest.raises(_compile.numba.core.errors.TypingError, match=rf"test_backend\.py \({line + 2}\)"):
            wrong.compile(np.dtype(np.float64))
