"""Learners that have been used, in processes that are forked or spawned afterwards, also while threads learn."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import orfit_bench as ob

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]
BACKENDS = ["numpy", "numba"]
METHODS = ["lms", "rls", "orfit", "oja"]
SECONDS = 60
"""Seconds after which a process counts as hanging."""
GROWTH = """
import sys
import numpy as np
import orfit_bench as ob

method, backend = sys.argv[1:]
rng = np.random.default_rng(0)
X = rng.standard_normal((10_000, 8))
y = () if method == "oja" else (X @ rng.standard_normal(8),)
learner = ob.create(method, backend=backend)

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

def learn(rows):
    for _ in range(rows // len(X)):
        learner.partial_fit(X, *y)

learn(100_000)
before = resident()
learn(1_000_000)
print(resident() - before)
"""


def rows(seed, n=50):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    return X, X @ rng.standard_normal(6)


def learn(learner, seed):
    X, y = rows(seed)
    return learner.partial_fit(X) if learner.method.name == "oja" else learner.partial_fit(X, y)


def in_fork(work):
    """The bytes that a function returns in a forked process. Fails if the process hangs."""
    here, there = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            with open(there, "wb") as pipe:
                pipe.write(work())
            status = 0
        finally:
            os._exit(status)
    os.close(there)
    killer = threading.Timer(SECONDS, os.kill, (child, signal.SIGKILL))
    killer.start()
    try:
        with open(here, "rb") as pipe:
            found = pipe.read()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "the process failed or hung"
    finally:
        killer.cancel()
    return found


def in_spawned(learner, seed):
    """The bytes of a copy that learned in a separate process, to which it was pickled."""
    program = (
        "import sys, pickle; learner, rows = pickle.load(sys.stdin.buffer); learner.partial_fit(*rows); "
        "sys.stdout.buffer.write(learner.to_bytes())"
    )
    given = rows(seed)[: 1 if learner.method.name == "oja" else 2]
    done = subprocess.run(
        [sys.executable, "-c", program], input=pickle.dumps((learner, given)), stdout=subprocess.PIPE, timeout=SECONDS
    )
    assert done.returncode == 0
    return done.stdout


@pytest.mark.parametrize("backend", BACKENDS)
def test_processes_that_fork_or_spawn_after_use_learn_the_same(backend):
    for seed in range(10):
        learner = learn(ob.create(METHODS[seed % len(METHODS)], backend=backend), seed)
        expected = learn(learner.copy(), seed + 1).to_bytes()
        assert in_fork(lambda learner=learner, seed=seed: learn(learner.copy(), seed + 1).to_bytes()) == expected
        assert in_spawned(learner, seed + 1) == expected


@pytest.mark.parametrize("backend", BACKENDS)
def test_forks_while_threads_learn_neither_hang_nor_differ(backend):
    expected = {name: learn(ob.create(name, backend=backend), 0).to_bytes() for name in METHODS}
    stopped, learned = threading.Event(), []

    def keep_learning(name):
        while not stopped.is_set():
            learned.append(learn(ob.create(name, backend=backend), 0).to_bytes() == expected[name])

    threads = [threading.Thread(target=keep_learning, args=(name,)) for name in METHODS]
    for thread in threads:
        thread.start()
    try:
        for i in range(40):
            name = METHODS[i % len(METHODS)]
            assert in_fork(lambda name=name: learn(ob.create(name, backend=backend), 0).to_bytes()) == expected[name]
            time.sleep(0.01)
    finally:
        stopped.set()
        for thread in threads:
            thread.join()
    assert learned
    assert all(learned)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="looks into /proc")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("method", ["lms", "sgd", "rls", "oja"])
def test_memory_does_not_grow_over_a_million_rows(method, backend):
    done = subprocess.run([sys.executable, "-c", GROWTH, method, backend], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 1_000_000, f"{done.stdout} bytes more after 1,000,000 rows"
