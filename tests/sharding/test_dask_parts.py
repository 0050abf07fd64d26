"""Dask collections as shards, on a cluster in this process and without: partition by partition, in Dask's order."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import orfit_bench as ob

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

N = 100
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.standard_normal((N, 3)), columns=list("abc"))
TABLE["y"] = TABLE["a"] - 2 * TABLE["b"] + 0.5 * TABLE["c"] + 0.1 * RNG.standard_normal(N)
X, y = TABLE[["a", "b", "c"]].to_numpy(), TABLE["y"].to_numpy()
HERE: dict[str, Any] = {"workers": 1, "backend": "numpy"}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A cluster with one worker of two threads in this process."""
    options = {"n_workers": 1, "threads_per_worker": 2, "dashboard_address": ":0", "silence_logs": 50}
    with distributed.LocalCluster(processes=False, **options) as cluster, distributed.Client(cluster) as client:
        yield client


def frame() -> Any:
    return dd.from_pandas(TABLE, npartitions=4)


def arrays() -> tuple[Any, Any]:
    return da.from_array(X, chunks=(25, 3)), da.from_array(y, chunks=25)


def assert_learned_all(learner: Any, shift: float = 0.0) -> None:
    """Assert equality with one learner of all rows, with this number added to the columns."""
    want = ob.create("rls", backend="numpy").partial_fit(X + shift, y)
    assert learner.n_samples_seen_ == N
    found = dict(zip(getattr(learner, "feature_names_in_", "abc"), learner.array("w").ravel(), strict=True))
    np.testing.assert_allclose([found[name] for name in "abc"], want.array("w").ravel(), rtol=1e-9)


FRAMES: dict[str, Callable[[], Any]] = {
    "plain": frame,
    "persisted": lambda: frame().persist(),
    "shuffled": lambda: frame().set_index("a").reset_index(),
    "merged": lambda: frame().merge(frame()[["a"]], on="a"),
    "computed from persisted": lambda: frame().persist().assign(b=lambda table: table["b"] * 1.0),
    "partitions": lambda: frame().persist().to_delayed(),
    "shuffled in one shard": lambda: [frame().set_index("a").reset_index()],
}


@pytest.mark.parametrize("name", FRAMES)
def test_frames_are_computed_by_their_cluster(client: Any, name: str) -> None:
    assert_learned_all(ob.learn("rls", FRAMES[name](), client, target="y", backend="numpy"))


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_persisted_arrays_are_computed_by_their_cluster(client: Any, shift: float) -> None:
    rows, targets = (array.persist() for array in arrays())
    assert_learned_all(ob.learn("rls", (rows + shift if shift else rows, targets), client, backend="numpy"), shift)


@pytest.mark.parametrize("where", ["cluster", "here"])
@pytest.mark.parametrize("name", ["plain", "persisted", "shuffled"])
def test_pairs_of_frames_are_learned_by_partitions(client: Any, name: str, where: str) -> None:
    rows = FRAMES[name]()
    pair = rows[["a", "b", "c"]], rows["y"]
    if where == "cluster":
        assert_learned_all(ob.learn("rls", pair, client, backend="numpy"))
    elif name == "plain":
        assert_learned_all(ob.learn("rls", pair, **HERE))


def test_pairs_that_are_cut_at_different_rows_are_refused() -> None:
    rows = frame()
    more = dd.from_pandas(TABLE, npartitions=5)
    with pytest.raises(ValueError, match=r"X has 4 partitions, y has 5: cut both at the same rows, .*repartition"):
        ob.learn("rls", (rows[["a"]], more["y"]), **HERE)
    other = rows.repartition(divisions=(0, 10, 50, 75, 99))
    with pytest.raises(ValueError, match=r"X has the divisions \(0, 25, 50, 75, 99\), y has \(0, 10, 50, 75, 99\)"):
        ob.learn("rls", (rows[["a"]], other["y"]), **HERE)
    with pytest.raises(TypeError, match="got X as DataFrame and y as Array of Dask, want two frames or two arrays"):
        ob.learn("rls", (rows[["a"]], arrays()[1]), **HERE)


NEEDS_CLUSTER: dict[str, Callable[[], Any]] = {
    **{name: FRAMES[name] for name in FRAMES if name != "plain"},
    "arrays": lambda: tuple(array.persist() for array in arrays()),
    "computed arrays": lambda: tuple(array.persist() + 1 for array in arrays()),
    "pairs": lambda: (frame().persist()[["a", "b", "c"]], frame()["y"]),
}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", NEEDS_CLUSTER)
def test_what_a_cluster_holds_is_refused_without_its_client(client: Any, name: str, workers: int) -> None:
    target = None if "arrays" in name or name == "pairs" else "y"
    with pytest.raises(ValueError, match=r"shard 0 is computed from what a cluster of Dask holds.*: pass client="):
        ob.learn("rls", NEEDS_CLUSTER[name](), target=target, workers=workers, backend="numpy")


CALLS: list[int] = []


def all_rows() -> Any:
    CALLS.append(1)
    return X


def cut(rows: Any, start: int) -> tuple[Any, Any]:
    return rows[start : start + 10], y[start : start + 10]


def test_what_shards_have_in_common_is_computed_once(client: Any) -> None:
    CALLS.clear()
    rows = dask.delayed(all_rows, pure=True)()
    shards = [dask.delayed(cut)(rows, start) for start in range(0, N, 10)]
    assert_learned_all(ob.learn("rls", shards, client, backend="numpy"))
    assert len(CALLS) == 1


def test_delayed_shards_may_be_a_tuple() -> None:
    shards = tuple(dask.delayed(cut)(X, start) for start in (0, 10))
    assert ob.learn("rls", shards, workers=1, backend="numpy").n_samples_seen_ == 20


THERE: set[int] = set()
MOST: list[int] = []


def part(number: int) -> tuple[Any, Any]:
    """Rows that are counted while they are in memory."""
    rows = RNG.standard_normal((50, 3))
    THERE.add(number)
    MOST.append(len(THERE))
    weakref.finalize(rows, THERE.discard, number)
    return rows, rows @ [1.0, 2.0, 3.0]


def test_few_partitions_are_in_memory_at_once(client: Any) -> None:
    MOST.clear()
    learner = ob.learn("rls", [dask.delayed(part)(i) for i in range(60)], client, backend="numpy")
    assert learner.n_samples_seen_ == 60 * 50
    assert len(MOST) == 60
    assert max(MOST) <= 10


def fail() -> None:
    raise RuntimeError("no disk")


def test_an_error_of_a_partition_names_its_shard(client: Any) -> None:
    with pytest.raises(RuntimeError, match="no disk") as raised:
        ob.learn("rls", [(X, y), dask.delayed(fail)()], client, backend="numpy")
    assert raised.value.__notes__ == ["in shard 1"]


def test_rounds_of_shuffled_rows(client: Any) -> None:
    shuffled = frame().set_index("a").reset_index()
    parts = dask.compute(*shuffled.to_delayed())
    more: dict[str, Any] = {"target": "y", "rounds": 3, "step_size": 0.05, "backend": "numpy"}
    found, want = ob.learn("lms", shuffled, client, **more), ob.learn("lms", parts, workers=1, **more)
    np.testing.assert_array_equal(found.array("w"), want.array("w"))


def test_shards_of_every_kind_keep_their_order(client: Any) -> None:
    rows, targets = (array.persist() for array in arrays())
    blocks = list(zip(rows.to_delayed().ravel(), targets.to_delayed().ravel(), strict=True))
    shards = [blocks[0], (X[25:50], y[25:50]), lambda: (X[50:75], y[50:75]), [blocks[3][0], y[75:]]]
    found = ob.learn("rls", shards, client, forgetting_factor=0.9, backend="numpy")
    want = ob.create("rls", forgetting_factor=0.9, backend="numpy").partial_fit(X, y)
    np.testing.assert_allclose(found.array("w"), want.array("w"), rtol=1e-9)
