"""Orders in which the rows of a stream are visited: once through, drawn uniformly, or reshuffled after each pass.

Each is a view of the data: the rows of a slice are gathered when it is asked for, and no others. A seed fixes the
order. Source: slides, "Other SGD flavors: different sampling".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.spec import Choice, Data, Integer, Setting, Stream
from orfit_bench.spec.stream import Pair

Array = NDArray[Any]
BLOCK = 1024
"""How many rows are drawn at once."""
BRANCH = 0x6F72646572
"""Where a seed's random numbers fork, so that the order has nothing to do with rows made from the same seed."""

SAMPLING = Setting(
    "sampling",
    Choice(("once", "uniform", "reshuffled")),
    "once",
    "the order of the rows: as they come, drawn with replacement, or each pass in a new random order",
)
PASSES = Setting("passes", Integer(1), 1, "uniform, reshuffled: times as many rows are visited as the stream has")
SEED = Setting("seed", Integer(0), 0, "the number from which the order of the rows comes")


def once(data: Data | Pair) -> Data:
    """Every row once, in the order in which they come; data are a stream's, or (X, y)."""
    return data if isinstance(data, Data) else Data(np.asarray(data[0]), np.asarray(data[1]))


def uniform(data: Data | Pair, n: int, seed: int = 0) -> Data:
    """The data with n rows, each drawn uniformly and with replacement. ValueError where there is none to draw."""
    data = once(data)
    rows = len(data.X)
    if not rows:
        raise ValueError("uniform: the data have no rows to draw from")
    return _visited(data, Visits(_count("n", n), BLOCK, lambda rng: rng.integers(rows, size=BLOCK), seed))


def reshuffled(data: Data | Pair, passes: int, seed: int = 0) -> Data:
    """The data gone through `passes` times, each time in a new random order."""
    data = once(data)
    rows = len(data.X)
    return _visited(data, Visits(_count("passes", passes) * rows, rows, lambda rng: rng.permutation(rows), seed))


def sampled(stream: Stream) -> Stream:
    """The stream with the settings `sampling` and `passes`, and `seed` where it has none of its own.

    A stream that has settings of these names already stays as it is.
    """
    names = {s.name for s in stream.settings}
    if names & {SAMPLING.name, PASSES.name}:
        return stream
    own = "seed" in names

    def make(sampling: str, passes: int, seed: int | None = None, **settings: Any) -> Data:
        if sampling == "once" and passes > 1:
            raise ValueError(
                f"stream {stream.name!r}: passes={passes} with sampling='once': set sampling to uniform or reshuffled; "
                f"a protocol's passes go through the rows in the same order again"
            )
        data = stream.make(**settings, **({"seed": seed} if own else {}))
        if sampling == "uniform":
            return uniform(data, passes * len(data.X), seed or 0)
        return reshuffled(data, passes, seed or 0) if sampling == "reshuffled" else once(data)

    return replace(stream, make=make, settings=(*stream.settings, SAMPLING, PASSES, *(() if own else (SEED,))))


class Visits:
    """Which row is visited at each of the moments 0 to total - 1, drawn by blocks, each from a generator of its own."""

    def __init__(self, total: int, block: int, draw: Callable[[np.random.Generator], Array], seed: int) -> None:
        self.total, self._block = total, block
        self._drawn = lru_cache(maxsize=2)(lambda b: draw(_generator(seed, b)))

    def at(self, moments: Array) -> Array:
        """The row numbers at these moments."""
        visited = np.empty(len(moments), np.int64)
        blocks = moments // self._block if len(moments) else moments
        for b in np.unique(blocks):
            visited[blocks == b] = self._drawn(int(b))[moments[blocks == b] - b * self._block]
        return visited


class View:
    """Rows in the order of their visits, by `len` and slices, as `Data` wants them; np.asarray gathers all."""

    def __init__(self, rows: Any, visits: Visits) -> None:
        self._rows, self._visits = rows, visits

    def __len__(self) -> int:
        return self._visits.total

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of visits, and the shape of a row."""
        return (len(self), *self._rows[:0].shape[1:])

    def __getitem__(self, piece: slice) -> Array:
        if not isinstance(piece, slice):
            raise TypeError(f"rows in another order are had by slices: got {piece!r}, want X[a:b], or np.asarray(X)")
        visited = self._visits.at(np.arange(*piece.indices(len(self))))
        if isinstance(self._rows, np.ndarray):
            gathered: Array = self._rows[visited]
            return gathered
        return np.concatenate([self._rows[:0], *(self._rows[i : i + 1] for i in visited.tolist())])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[:], dtype)


def _visited(data: Data, visits: Visits) -> Data:
    """Test and validation rows stay as they are; tasks have no place in another order."""
    X: Any = View(data.X, visits)
    y: Any = None if data.y is None else View(data.y, visits)
    return replace(data, X=X, y=y, tasks=())


def _generator(seed: int, block: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(BRANCH, block)))


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name}={value!r}: want an integer >= 1")
    if value < 1:
        raise ValueError(f"{name}={value}: want an integer >= 1")
    return int(value)
