"""Metrics of time and memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.records import NUMBERS, D, cell, created, measured, metric

import orfit_bench as ob
from orfit_bench.bench import Cell, Protocol, learning, measuring, run_cell
from orfit_bench.spec import Backend, Data

KINDS = {"rls": "regression", "my_filter": "regression", "my_labels": "classes", "my_subspace": "regression"}
"""A method of each kind, and the stream of its cell."""


def test_throughput_is_rows_over_seconds() -> None:
    assert metric("throughput", seconds=0.5, rows_learned=20) == 40
    assert metric("seconds_per_sample", seconds=0.5, rows_learned=20) == 0.025


def test_percentiles_of_the_latency() -> None:
    calls = np.random.default_rng(0).permutation(np.arange(101.0))
    assert metric("latency_p50", latency=calls) == 50
    assert metric("latency_p99", latency=calls) == 99
    assert metric("latency_p50") is None


class Clock:
    """A clock that advances by a millisecond each time it is read, and counts the rows of each call in between."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1e-3
        return self.now


@pytest.mark.parametrize(("n", "calls"), [(3, 3), (40, 40), (1500, 1000)])
@pytest.mark.parametrize("batch_size", [1, 7])
def test_latency_is_of_one_row_per_call(n: int, calls: int, batch_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    fed: list[int] = []

    def make() -> Any:
        learner = created("orfit", batch_size=batch_size)
        plain = learner.partial_fit

        def partial_fit(X: Any, y: Any) -> Any:
            fed.append(len(X))
            return plain(X, y)

        learner.partial_fit = partial_fit
        return learner

    monkeypatch.setattr(measuring, "perf_counter", Clock())
    data = ob.streams()["regression"].load(n=n, d=2)
    found = measuring.latency(make, data)
    np.testing.assert_allclose(found, np.full(calls, 1e-3), rtol=1e-6)
    warm = min(n, measuring.WARM_ROWS)
    assert fed == [0, *[1] * warm, 0, *[1] * calls]


class Greedy:
    """A backend on NumPy arrays whose kernel allocates a megabyte; with `device` it counts device memory."""

    SPEC_VERSION = (1, 0)

    def __init__(self, device: bool) -> None:
        self.used, self.device = [0], device

    @ob.hookimpl
    def backends(self) -> Any:
        memory = self.memory if self.device else None
        return [Backend("greedy_device", "", namespace=lambda: np, memory=memory)]

    @ob.hookimpl
    def kernels(self) -> Any:
        return {("greedy_device", "greedy"): SimpleNamespace(learn=self.learn)}

    def memory(self) -> int:
        most, self.used = max(self.used), self.used[-1:]
        return most

    def learn(self, s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
        waste = np.ones(125_000)
        s.last[...] = waste[0] * Y[-1]
        self.used += [5000, 7]
        if out is not None:
            out[...] = 0
        return len(X)


@pytest.mark.parametrize("device", [True, False])
def test_memory(device: bool) -> None:
    plugin = Greedy(device)
    ob.register(plugin)
    try:
        plugin.used = [10**9]  # memory that was in use before does not belong to this learner
        record = run_cell(Cell("greedy", "greedy_device", "regression", {}, {**NUMBERS, "n": 3000}))
    finally:
        ob.unregister(plugin)
    assert record["status"] == "ok", record
    assert 1e6 < record["metrics"]["host_memory"] < 1.05e6
    assert record["metrics"]["device_memory"] == (5000 if device else None)
    assert not tracemalloc.is_tracing()


def test_host_memory_includes_state_and_temporaries() -> None:
    """P of rls and one array of its size while it is changed; the data and earlier allocations do not count."""
    data, protocol = ob.streams()["regression"].load(n=2000, d=150), Protocol()
    P = 150 * 150 * 8
    measuring.warm_up(lambda: created("rls"), data)
    first, _ = measuring.peak_memory(lambda: created("rls"), data, protocol)
    ballast = np.ones(1_000_000)
    again, device = measuring.peak_memory(lambda: created("rls"), data, protocol)
    assert 2 * P < first < 3 * P < data.X.nbytes < ballast.nbytes
    assert again == pytest.approx(first, abs=4000)
    assert device is None


def test_memory_is_measured_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    learned = []
    monkeypatch.setattr(measuring, "learn", lambda learners, data, protocol: learned.append((len(learners), protocol)))
    measuring.peak_memory(lambda: created("lms"), ob.streams()["regression"].load(n=20, d=2), Protocol(50, 2, 3))
    assert learned == [(2, Protocol(1, 2, 3))]


def test_running_tracemalloc_is_not_stopped() -> None:
    data = ob.streams()["regression"].load(n=20, d=2)
    tracemalloc.start()
    try:
        kept = np.ones(100_000)
        np.ones(1_000_000).sum()  # a peak that does not belong to the learner
        peak, _ = measuring.peak_memory(lambda: created("lms"), data, Protocol())
        assert tracemalloc.is_tracing()
        assert 0 < peak < kept.nbytes
    finally:
        tracemalloc.stop()


def test_state_bytes() -> None:
    assert measured("rls")["state_bytes"] == 8 * (D * 2 + D * D + 1)


def test_recording_does_not_change_the_state(same_state: Callable[..., None]) -> None:
    for method, stream in KINDS.items():
        one = cell(method, stream)
        data, protocol = one.data(), Protocol()
        seen, plain = (learning.initialize(one.create, data, protocol) for _ in range(2))
        learning.learn_and_record(seen, data, protocol)
        learning.learn(plain, data, protocol)
        same_state(seen[0], plain[0])


@pytest.mark.parametrize("n", [3, 500])
def test_compilation_is_finished_before_timing(n: int) -> None:
    X = np.random.default_rng(0).standard_normal((n, 4))
    seen: list[ob.Learner] = []
    measuring.warm_up(lambda: seen.append(ob.create("rls")) or seen[0], Data(X, X[:, 0]))
    assert [learner.n_samples_seen_ for learner in seen] == [min(n, measuring.BLOCK_ROWS)]
    assert measuring.BLOCK_ROWS >= 64, "kernels that work in blocks begin to at 16 rows"
