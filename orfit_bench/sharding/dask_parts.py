"""Dask collections as shards: their partitions, which are computed by this machine or a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from importlib import import_module
from typing import Any
from uuid import uuid4

from orfit_bench.sharding.pairs import is_pair
from orfit_bench.tables.columns import is_of_dask


def is_collection(value: Any) -> bool:
    """Whether this is a frame, an array or a bag of Dask."""
    return hasattr(value, "dask") and hasattr(type(value), "to_delayed")


def planned_for(client: Any) -> AbstractContextManager[Any]:
    """A context in which Dask plans shuffles and the like for this client; with None, as by default."""
    as_current: Callable[[], AbstractContextManager[Any]] = getattr(client, "as_current", nullcontext)
    return as_current()


def list_parts(collection: Any) -> list[Any]:
    """The partitions of a frame, or the blocks of rows of an array, as delayed objects."""
    found = collection.to_delayed()
    if isinstance(found, list):  # from a frame
        return found
    if found.ndim > 1 and found.shape[1] > 1:
        raise ValueError(
            f"shards: the array has {found.shape[1]} chunks of columns, want 1: rechunk it with x.rechunk({{1: -1}})"
        )
    return list(found.ravel())


def list_pairs(X: Any, y: Any) -> list[Any]:
    """The pairs of partitions of two frames, or of blocks of two arrays.

    Raises
    ------
    TypeError
        If one is a frame and the other an array.
    ValueError
        If they are known to be cut at different rows.
    """
    if all(hasattr(collection, "chunks") for collection in (X, y)):
        blocks = list_parts(X), list_parts(y)
        if len(blocks[0]) != len(blocks[1]) or X.chunks[0] != y.chunks[0]:
            raise ValueError(f"shards: X has chunks of {X.chunks[0]} rows, y of {y.chunks[0]}: rechunk one of them")
        return list(zip(*blocks, strict=True))
    if not all(hasattr(collection, "divisions") for collection in (X, y)):
        raise TypeError(
            f"shards: got X as {type(X).__name__} and y as {type(y).__name__} of Dask, want two frames or two arrays: "
            "frame.to_dask_array(lengths=True) is an array"
        )
    _check_partitions(X, y)
    dd: Any = import_module("dask.dataframe")  # has no types

    # one graph, in which both are cut from the same rows in the same order; the type of its result is not used
    pairs = dd.map_partitions(_pair, X, y, align_dataframes=False, enforce_metadata=False, meta=(None, object))
    return list_parts(pairs)


def _check_partitions(X: Any, y: Any) -> None:
    """Raise ValueError if two frames are cut at different rows."""
    remedy = "cut both at the same rows, for example with y.repartition(divisions=X.divisions)"
    if X.npartitions != y.npartitions:
        raise ValueError(f"shards: X has {X.npartitions} partitions, y has {y.npartitions}: {remedy}")
    if X.known_divisions and y.known_divisions and X.divisions != y.divisions:
        raise ValueError(f"shards: X has the divisions {X.divisions}, y has {y.divisions}: {remedy}")


def _pair(X: Any, y: Any) -> tuple[Any, Any]:
    return X, y


def parts_of(shard: Any) -> Iterator[Any]:
    """The parts of a shard that Dask must compute: the shard, or X or y of a pair."""
    yield from filter(is_of_dask, shard if is_pair(shard) else [shard])


def holds_parts(shard: Any) -> bool:
    """Whether Dask must compute a part of the shard."""
    return next(parts_of(shard), None) is not None


def check_computable(shards: Sequence[Any]) -> None:
    """Raise ValueError if a cluster holds the inputs of a shard, or must compute it, as for some shuffles."""
    local: dict[int, Any] = {}
    if not any(map(holds_parts, shards)):
        return
    from dask.delayed import Delayed

    for number, shard in enumerate(shards):
        for collection in parts_of(shard):
            graph = collection.dask
            is_known = id(graph) in local or not _needs_cluster(graph)
            if not is_known or (isinstance(collection, Delayed) and collection.key not in graph):
                raise ValueError(
                    f"shard {number} is computed from what a cluster of Dask holds, or by a shuffle of a cluster: "
                    "pass client=, the Client of this cluster"
                )
            local[id(graph)] = graph


def _needs_cluster(graph: Mapping[Any, Any]) -> bool:
    """Whether tasks of a graph are or use futures, which the graph may not contain, or run only on a cluster."""
    waiting = list(graph.values())
    while waiting:
        item = waiting.pop()
        if str(getattr(item, "__module__", "")).startswith("distributed."):
            return True
        if isinstance(item, Mapping):
            waiting.extend(item.values())
        elif isinstance(item, tuple | list | set):
            waiting.extend(item)
        elif type(item).__module__.startswith("dask."):
            waiting.extend((getattr(item, "args", ()), getattr(item, "kwargs", {})))
    return any(key not in graph for task in graph.values() for key in getattr(task, "dependencies", ()))


def begin_computed(client: Any, calls: Sequence[tuple[Any, ...]], task: Callable[..., Any]) -> list[Any]:
    """Start a task for each call, whose last argument the cluster computes, and return the futures of the values.

    All calls form one graph: inputs that shards share are computed once, each part is freed once it has been learned,
    and Dask orders the work so that few parts are in memory at the same time.
    """
    if not calls:
        return []
    from dask.delayed import delayed
    from dask.highlevelgraph import HighLevelGraph

    name = f"{task.__name__}-{uuid4()}"
    tasks = [
        delayed(partial(task, *others), pure=False, traverse=False)(part, dask_key_name=f"{name}-{i}")
        for i, (*others, part) in enumerate(calls)
    ]
    keys = [computed.key for computed in tasks]
    graph = HighLevelGraph.merge(*(computed.dask for computed in tasks))
    futures: list[Any] = client.get(graph.cull(keys), keys, sync=False)
    return futures
