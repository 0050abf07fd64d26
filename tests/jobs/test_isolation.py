"""Worker processes: a crash or hang affects only its own call."""

import os
import signal
import time

import pytest

from orfit_bench.jobs.processes import BLAS_THREADS, Call, DiedError, Process, result_of, spread, threads


def test_every_call_returns_a_value_or_a_failure():
    calls = [
        Call(sum, ((1, 2),), 60),
        Call(os._exit, (3,), 60),
        Call(time.sleep, (60,), 0.5),
        Call(os.abort, (), 60),
        Call(threads, (), 60),
        Call(sum, ((3, 4),), 60),
    ]
    before = dict(os.environ)
    with Process() as one, Process() as other:
        values = dict(spread([one, other], enumerate(calls)))
    assert dict(os.environ) == before
    assert sorted(values) == list(range(6))
    assert (values[0], values[5]) == (3, 7)
    assert values[4].items() >= dict.fromkeys(BLAS_THREADS, "1").items()
    assert isinstance(values[2], TimeoutError)
    died = "the worker process ended with exit code 3", f"the worker process was killed by signal {int(signal.SIGABRT)}"
    for number, stated in zip((1, 2, 3), (died[0], "stopped after 0.5 s", died[1]), strict=True):
        assert str(values[number]).startswith(stated)
        assert number == 2 or isinstance(values[number], DiedError)


@pytest.mark.parametrize("seconds", [float("inf"), 1e300])
def test_a_call_may_have_any_time(seconds):
    with Process() as process:
        assert list(spread([process], [(0, Call(sum, ((1, 2),), seconds))])) == [(0, 3)]
        assert process.call(Call(sum, ((1, 2),), seconds)) == 3


def test_calls_run_at_the_same_time():
    with Process() as one, Process() as other:
        began = time.monotonic()
        assert one.threads == other.threads
        at_work = [process.begin(Call(time.sleep, (1.0,), 60)) for process in (one, other)]
        began = time.monotonic()
        assert [result_of(future) for future in at_work] == [None, None]
        assert time.monotonic() - began < 1.9


@pytest.mark.parametrize(("hours", "sleep", "limit"), [(5, 1.5, 60), (-5, 60, 1.5)], ids=["forward", "back"])
def test_a_clock_that_is_set_meanwhile_changes_no_limit(hours, sleep, limit, monkeypatch):
    clock = time.time
    with Process() as process:
        assert process.call(Call(sum, ((1, 2),), 60)) == 3
        running = process.begin(Call(time.sleep, (sleep,), limit))
        time.sleep(0.5)  # until the call has begun
        monkeypatch.setattr(time, "time", lambda: clock() + 3600 * hours)
        began = time.monotonic()
        if sleep < limit:
            assert result_of(running) is None
        else:
            with pytest.raises(TimeoutError, match=r"stopped after 1\.5 s"):
                result_of(running)
        assert time.monotonic() - began < 20
        assert process.call(Call(sum, ((1, 2),), 60)) == 3


def test_no_calls_have_no_values():
    assert list(spread([], [])) == []


def test_failure_to_start_a_process_states_the_remedy(monkeypatch):
    monkeypatch.setattr("orfit_bench.jobs.processes.threads", os.abort)  # the first call in the process
    with Process() as process, pytest.raises(RuntimeError, match=r"the worker process does not start.*conform\(\)"):
        process.begin(Call(sum, ((),), 60))


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals cannot be blocked on this system")
def test_interrupt_does_not_reach_worker_processes():
    blocked = Call(signal.pthread_sigmask, (signal.SIG_BLOCK, ()), 60)
    with Process() as process:
        for _ in range(2):  # as it was started, and as it was started again
            assert signal.SIGINT in result_of(process.begin(blocked))
            with pytest.raises(DiedError):
                result_of(process.begin(Call(os._exit, (3,), 60)))
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
