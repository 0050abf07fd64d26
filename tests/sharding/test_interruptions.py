"""A call of `learn` that is ended by an error or Ctrl-C leaves no running work behind."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.commands import wait_for

import orfit_bench as ob

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")

STARTED: list[int] = []
GO_ON, FAILS = threading.Event(), threading.Event()


@pytest.fixture
def client() -> Iterator[Any]:
    """A cluster with one worker of one thread in this process."""
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    STARTED.clear()
    GO_ON.clear()
    FAILS.clear()
    with (
        distributed.LocalCluster(processes=False, **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client
        GO_ON.set()


def shard(number: int) -> tuple[Any, Any]:
    """Rows, which are invalid if FAILS is set; all but the first two shards wait for GO_ON, for a second at most."""
    STARTED.append(number)
    if len(STARTED) > 2:
        GO_ON.wait(1.0)
    return (np.full((2, 2), np.nan) if FAILS.is_set() else np.ones((2, 2))), np.ones(2)


def assert_nothing_goes_on(client: Any) -> None:
    """Assert that a task at most still runs, and that then no work and no state remain."""
    worker = client.cluster.workers[0]
    wait_for(lambda: len(worker.state.tasks) <= 1)  # the cancellation arrives a moment later
    GO_ON.set()
    wait_for(lambda: not any(client.processing().values()) and not any(client.has_what().values()))
    assert len(STARTED) < 10


def shards_of(kind: str) -> list[Any]:
    functions = [partial(shard, number) for number in range(20)]
    return functions if kind == "functions" else [dask.delayed(function)() for function in functions]


@pytest.mark.parametrize("kind", ["functions", "parts"])
def test_an_error_cancels_what_a_cluster_has_not_learned(client: Any, kind: str) -> None:
    FAILS.set()
    with pytest.raises(ValueError, match="is nan") as raised:  # the traceback keeps all frames alive
        ob.learn("rls", shards_of(kind), client, backend="numpy")
    assert raised.value.__traceback__ is not None
    assert_nothing_goes_on(client)


def test_an_interruption_cancels_what_a_cluster_has_not_learned(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """This happens outside the generator of values, whose futures live as long as the traceback."""

    def interrupt(states: Iterator[Any], merge: Any) -> None:
        next(states)
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["orfit_bench.sharding.learn"], "merge_neighbours", interrupt)
    with pytest.raises(KeyboardInterrupt) as raised:
        ob.learn("rls", shards_of("functions"), client, backend="numpy")
    assert raised.value.__traceback__ is not None
    assert_nothing_goes_on(client)


def marking_shard(folder: Path, number: int) -> tuple[Any, Any]:
    """Rows that are invalid in the first shard, and delayed in all others."""
    (folder / f"{number} begun").touch()
    if number == 0:
        return np.full((2, 2), np.nan), np.ones(2)
    time.sleep(2.0)
    (folder / f"{number} learned").touch()
    return np.ones((2, 2)), np.ones(2)


@pytest.mark.slow
def test_an_error_ends_the_processes_of_the_other_shards(tmp_path: Path) -> None:
    shards = [partial(marking_shard, tmp_path, number) for number in range(8)]
    with pytest.raises(ValueError, match="is nan") as raised:
        ob.learn("rls", shards, workers=2, backend="numpy")
    before = sorted(path.name for path in tmp_path.iterdir())
    time.sleep(2.5)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert raised.value.__traceback__ is not None
