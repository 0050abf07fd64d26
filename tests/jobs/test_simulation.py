"""Simulated runs that are killed, fail and compete for one output: every job is recorded once, and nothing is lost."""

from __future__ import annotations

import errno
import inspect
import random
import re
from pathlib import Path
from typing import Any

import pytest
from helpers import simulated_workers, simulation

from orfit_bench.jobs import forking, journal, locks, system


def failed(seeds: int) -> list[str]:
    return [problem for seed in range(seeds) for problem in simulation.simulate(seed)[0]]


def test_seeds_end_with_all_results_once() -> None:
    assert failed(30) == []


def test_a_seed_repeats_its_run() -> None:
    assert simulation.simulate(5) == simulation.simulate(5)


def write_in_place(path: Path, text: str) -> None:
    descriptor = system.open_or_create(path)
    try:
        system.write(descriptor, text.encode())
    finally:
        system.close(descriptor)


@pytest.mark.parametrize(
    ("where", "name", "fault", "problem"),
    [
        (journal, "replace_text", write_in_place, "damaged|cannot be read|run again"),
        (simulation, "replace_text", write_in_place, "neither missing nor whole"),
        (locks, "_lock_if_possible", lambda descriptor: None, "two clients"),
        (journal.Journal, "remove", lambda self, keys: None, "files are left"),
        (journal.Journal, "read", lambda self: {}, "run again"),
    ],
)
def test_the_simulation_finds_faults(
    monkeypatch: pytest.MonkeyPatch, where: Any, name: str, fault: Any, problem: str
) -> None:
    monkeypatch.setattr(where, name, fault)
    assert any(re.search(problem, found) for found in failed(30))


@pytest.mark.parametrize(
    ("right", "wrong", "problem"),
    [
        ("late = time.monotonic() > deadline", "late = False", "that hangs is not ended"),
        ("time.monotonic() + timeout", "timeout", "is taken for 'timeout'"),
        ("if late:", "if late and not part:", "that floods is not ended"),
        ("continue\n", "pass\n", "that dies is taken for 'timeout'"),
    ],
)
def test_the_simulation_finds_faults_of_the_wait_for_workers(
    monkeypatch: pytest.MonkeyPatch, right: str, wrong: str, problem: str
) -> None:
    source = re.sub(r"  # .*", "", inspect.getsource(forking._wait))
    assert right in source
    faulty: dict[str, Any] = {}
    exec(source.replace(right, wrong), vars(forking), faulty)
    monkeypatch.setattr(forking, "_wait", faulty["_wait"])
    monkeypatch.setattr(simulated_workers, "MOST_CALLS", 2000)
    assert any(problem in found for found in outcomes(300))


def test_workers_and_stopped_clocks_end_as_they_must() -> None:
    assert outcomes(1000) == []


def outcomes(seeds: int) -> list[str]:
    problems = []
    for seed in range(seeds):
        rng = random.Random(seed)
        kind = rng.choice(simulated_workers.KINDS)
        try:
            problems += simulated_workers.simulate(rng, kind, rng.random())[1]
        except RuntimeError as error:
            problems.append(str(error))
    return problems


@pytest.mark.parametrize("code", [errno.EIO, errno.EINTR])
def test_an_output_is_not_written_without_a_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(code, "no lock")

    monkeypatch.setattr(system, "lock", fail)
    with pytest.raises(OSError, match="no lock"), locks.lock(tmp_path / "results.nc"):
        pass


def test_a_system_without_locks_is_used_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOTSUP, "no file locks")

    monkeypatch.setattr(system, "lock", fail)
    with locks.lock(tmp_path / "results.nc"):
        assert (tmp_path / ".results.nc.lock").exists()
    assert not (tmp_path / ".results.nc.lock").exists()


def test_an_interruption_while_a_lock_is_given_back_does_not_keep_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(path: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(system, "remove", interrupt)
        with pytest.raises(KeyboardInterrupt), locks.lock(tmp_path / "results.nc"):
            pass
    with locks.lock(tmp_path / "results.nc"):
        pass
