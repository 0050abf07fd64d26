"""The list of shards from the argument of `learn`, without reading them."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from orfit_bench.sharding.dask_parts import is_collection, list_pairs, list_parts
from orfit_bench.tables.columns import is_table
from orfit_bench.tables.data_arrays import is_data_set


def list_shards(shards: Any) -> list[Any]:
    """The shards of a Dask collection or an iterable.

    Raises
    ------
    TypeError
        If `shards` is neither.
    ValueError
        If two Dask collections are cut at different rows.
    """
    if is_collection(shards):
        return list_parts(shards)
    if isinstance(shards, tuple) and len(shards) == 2 and all(map(is_collection, shards)):
        return list_pairs(*shards)
    if (
        isinstance(shards, str | bytes | Path)
        or callable(shards)
        or is_table(shards)
        or is_data_set(shards)
        or isinstance(shards, Mapping)
        or not hasattr(shards, "__iter__")
    ):
        raise TypeError(f"shards: got {type(shards).__name__}, want a list of shards, or a collection of Dask")
    if isinstance(shards, tuple) and [_dimensions(part) for part in shards] == [2, 1]:
        remedy = ", or collections of Dask for both" if any(map(is_collection, shards)) else ""
        raise TypeError(f"shards: got a pair (X, y), want a list of shards: [(X, y)]{remedy}")
    found = list(shards)
    for number, shard in enumerate(found):
        if isinstance(shard, Iterator):
            kind = type(shard).__name__
            raise TypeError(
                f"shard {number}: got a {kind}, which can be read only once: pass a function that returns one"
            )
    return found


def _dimensions(part: Any) -> int:
    """The number of axes of an array, a table or a column; 0 for anything else, such as a list."""
    shape = getattr(part, "shape", ())
    return len(shape) if isinstance(shape, tuple) else 0  # the shape of a delayed object of Dask is delayed too


def check_sendable(name: str, value: Any) -> None:
    """Raise TypeError if a function, such as that of a model or a shard, cannot be sent to a process."""
    try:
        pickle.dumps(value)
    except Exception as error:
        remedy = "pass a function of a module, or workers=1"
        raise TypeError(f"{name}: {value!r} cannot be sent to a process ({error}): {remedy}") from None
