"""Shards on a Dask cluster: the same bits as without, also if a worker is killed."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.clusters import open_cluster

import orfit_bench as ob
from orfit_bench.jobs import on_dask
from orfit_bench.jobs.on_dask import ClusterLostError
from orfit_bench.jobs.processes import DiedError

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

D = 20


def shard(number: int) -> tuple[Any, Any]:
    """Rows that a worker generates in about a tenth of a second."""
    random = np.random.default_rng(number)
    X = random.standard_normal((500, D))
    time.sleep(0.1)
    return X, X @ np.arange(D) + random.standard_normal(500)


SHARDS = [partial(shard, i) for i in range(64)]


@pytest.fixture
def client() -> Iterator[Any]:
    """Two worker processes on this machine, restarted by their nannies."""
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


def weights(learner: Any) -> Any:
    return learner.predict(np.eye(D))


@pytest.mark.parametrize("ff", [1.0, 0.9999])
def test_killed_workers_change_no_bit(tmp_path: Path, ff: float) -> None:
    expected = ob.learn("rls", SHARDS, workers=1, forgetting_factor=ff, backend="numpy")
    path = os.pathsep.join(sys.path)  # workers import this module
    with (
        open_cluster(tmp_path, os.environ | {"PYTHONPATH": path}) as opened,
        opened.client() as client,
        opened.worker_killed_every_second() as killed,
    ):
        found = ob.learn("rls", SHARDS, client, forgetting_factor=ff, backend="numpy")
    assert len(killed) >= 3
    assert found.n_samples_seen_ == 64 * 500
    np.testing.assert_array_equal(weights(found), weights(expected))


@pytest.mark.parametrize("name", ["shuffled", "persisted"])
def test_killed_workers_change_no_partition(tmp_path: Path, name: str) -> None:
    """Lost partitions are computed again, as are shuffles, which continue with a remaining worker."""
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.standard_normal((4_000, 3)), columns=list("abt"))
    expected = ob.create("rls", backend="numpy").partial_fit(table[["a", "b"]], table["t"])
    path = os.pathsep.join(sys.path)
    with (
        open_cluster(tmp_path, os.environ | {"PYTHONPATH": path}) as opened,
        distributed.Client(opened.address),
        opened.client() as client,
    ):
        rows = dd.from_pandas(table, npartitions=40)
        rows = rows.persist() if name == "persisted" else rows.set_index("a").reset_index()
        slow = rows.map_partitions(pause, meta=table)
        with opened.worker_killed_every_second(most=3 if name == "shuffled" else None) as killed:
            found = ob.learn("rls", slow, client, target="t", backend="numpy")
    assert killed
    assert found.n_samples_seen_ == 4_000
    np.testing.assert_allclose(found.array("w"), expected.array("w"), rtol=1e-9)


def pause(rows: Any) -> Any:
    """The rows after a tenth of a second."""
    time.sleep(0.1)
    return rows


def deadly() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def workers_replaced(opened: Any) -> Iterator[None]:
    """Start a worker for each that ends."""
    ended = threading.Event()

    def replace() -> None:
        while not ended.wait(0.1):
            for worker in [worker for worker in opened.workers if worker.poll() is not None]:
                opened.workers.remove(worker)
                opened.start_worker()

    replacing = threading.Thread(target=replace)
    replacing.start()
    try:
        yield
    finally:
        ended.set()
        replacing.join()


@pytest.mark.parametrize("shards", ["functions", "parts"])
def test_a_shard_that_kills_its_workers_is_named(tmp_path: Path, shards: str) -> None:
    path = os.pathsep.join(sys.path)
    given = [SHARDS[0], deadly, SHARDS[1]]
    if shards == "parts":
        given = [dask.delayed(function)() for function in given]
    with (
        open_cluster(tmp_path, os.environ | {"PYTHONPATH": path}) as opened,
        opened.client() as client,
        workers_replaced(opened),
        pytest.raises(DiedError, match="shard 1: the worker died 12 times while it learned this shard alone"),
    ):
        ob.learn("rls", given, client, backend="numpy")


def test_shards_do_not_wait_for_workers_that_are_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_dask, "NO_WORKERS_SECONDS", 5.0)
    monkeypatch.setattr(on_dask, "CHECK_SECONDS", 0.1)
    path = os.pathsep.join(sys.path)
    with open_cluster(tmp_path, os.environ | {"PYTHONPATH": path}) as opened, opened.client() as client:
        client.wait_for_workers(2)
        with pytest.raises(ClusterLostError, match=r"lost all its workers.*; shards that are not learned: 0$"):
            ob.learn("rls", [deadly], client, backend="numpy")


def test_collections_and_rounds(client: Any) -> None:
    X, y = (np.concatenate(parts) for parts in zip(*(shard(i) for i in range(4)), strict=True))
    pair = da.from_array(X, chunks=(500, D)), da.from_array(y, chunks=500)
    found = ob.learn("rls", pair, client, backend="numpy")
    one = ob.create("rls", backend="numpy").partial_fit(X, y)
    np.testing.assert_allclose(weights(found), weights(one), rtol=1e-9)
    by_dask, here = (
        ob.learn("nlms", SHARDS[:4], c, rounds=3, backend="numpy", **more)
        for c, more in ((client, {}), (None, {"workers": 1}))
    )
    np.testing.assert_array_equal(weights(by_dask), weights(here))


def test_an_error_on_a_worker_names_its_shard(client: Any) -> None:
    with pytest.raises(ValueError, match="is nan") as raised:
        ob.learn("rls", [SHARDS[0], (np.full((2, D), np.nan), [0.0, 1.0])], client, backend="numpy")
    assert raised.value.__notes__ == ["in shard 1"]


def test_chunks_that_do_not_fit_are_refused() -> None:
    X = da.ones((100, 4), chunks=(50, 2))
    with pytest.raises(ValueError, match="2 chunks of columns"):
        ob.learn("rls", (X, da.ones(100, chunks=50)), workers=1)
    with pytest.raises(ValueError, match="rechunk one of them"):
        ob.learn("rls", (X.rechunk({1: -1}), da.ones(100, chunks=25)), workers=1)
