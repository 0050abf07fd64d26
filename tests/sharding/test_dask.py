"""Shards on a cluster of Dask: the same bits as without, also if a worker is killed."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.clusters import open_cluster

import orfit_bench as ob

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

D = 20


def shard(number: int) -> tuple[Any, Any]:
    """Rows that a worker makes, in about a tenth of a second."""
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
