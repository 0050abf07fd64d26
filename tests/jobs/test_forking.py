"""Calls in fresh processes: how each can die, what it leaves behind, and what the next call sees."""

import ctypes
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from orfit_bench.jobs import fingerprint
from orfit_bench.jobs.forking import CAN_FORK
from orfit_bench.jobs.phases import phase
from orfit_bench.jobs.processes import Call, DiedError
from orfit_bench.jobs.sessions import ForkServer, Session

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="needs fork, on Linux")


@pytest.fixture(scope="module")
def server():
    with ForkServer(int) as server:
        yield server


def patch():
    np.sum = None


def is_patched():
    return np.sum is None


def print_much():
    print("x" * 100_000)
    subprocess.run([sys.executable, "-c", "print('at the end')"], check=True)
    os._exit(0)


def start_child(own_session=False):
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    return subprocess.Popen(command, start_new_session=own_session).pid


def allocate(n):
    try:
        return np.ones(n).nbytes
    except MemoryError:
        return "MemoryError"


def end(server, function, *arguments, timeout=30):
    began = time.monotonic()
    answer = server.call(Call(function, arguments, timeout))
    assert time.monotonic() - began < min(timeout, 5) + 5
    return answer.value


def test_every_death_is_named_at_once(server):
    for function, arguments, stated in (
        (os._exit, (0,), "exit code 0"),
        (os._exit, (3,), "exit code 3"),
        (ctypes.string_at, (0,), "signal 11"),
        (signal.raise_signal, (signal.SIGKILL,), "signal 9"),
    ):
        value = end(server, function, *arguments)
        assert isinstance(value, DiedError)
        assert stated in str(value)
    for function, arguments in ((time.sleep, (60,)), (signal.raise_signal, (signal.SIGSTOP,))):
        value = end(server, function, *arguments, timeout=0.3)
        assert isinstance(value, TimeoutError)
        assert str(value) == "stopped after 0.3 s"
    assert end(server, sum, (1, 2)) == 3


def work_in_phases(function, *arguments):
    """Make a call in a phase, after other phases have ended."""
    with phase("it began"), phase("it went on"):
        pass
    with phase("it did " + "ä" * 3):
        return function(*arguments)


def test_what_a_call_was_doing_is_part_of_how_it_ended(server):
    died = end(server, work_in_phases, signal.raise_signal, signal.SIGKILL)
    assert str(died) == "the worker process was killed by signal 9 (Killed) while it did äää"
    assert str(end(server, work_in_phases, time.sleep, 60, timeout=5)) == "stopped after 5 s while it did äää"
    assert str(end(server, os._exit, 3)).endswith("exit code 3")
    assert end(server, work_in_phases, sum, (1, 2)) == 3


def test_no_call_changes_the_next(server):
    end(server, patch)
    assert end(server, is_patched) is False


def test_the_end_of_the_output_is_kept(server):
    answer = server.call(Call(print_much, (), 30))
    assert answer.output.endswith("x\nat the end\n")
    assert len(answer.output) <= 2000


@pytest.mark.parametrize("own_session", [False, True])
def test_processes_that_a_call_started_end_with_it(server, own_session):
    pid = end(server, start_child, own_session)
    for _ in range(100):
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().split()[2] == "Z":
                    return
        except FileNotFoundError:
            return
        time.sleep(0.02)
    pytest.fail("the child of a call still runs")


def test_memory_is_limited(server):
    assert server.call(Call(allocate, (10**7,), 30), memory=10**9).value == 8 * 10**7
    assert server.call(Call(allocate, (10**7,), 30), memory=10**7).value == "MemoryError"
    for endless in (float("inf"), 1e300, 1e19):
        assert server.call(Call(allocate, (10,), 30), memory=endless).value == 80


def test_replaced_functions_are_named(monkeypatch):
    loaded = fingerprint.take()
    assert fingerprint.changed(loaded) == []
    monkeypatch.setattr(Session, "call", None)
    monkeypatch.setattr(np.linalg, "solve", len)
    assert sorted(fingerprint.changed(loaded)) == ["numpy.linalg.solve", "orfit_bench.jobs.sessions.Session.call"]
