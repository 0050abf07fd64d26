"""Rows that the checks learn from, of the kind that a method learns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orfit_bench.spec import Method

Array = NDArray[Any]


class Chunk(NamedTuple):
    """X (n, d), y as the kind of learner wants it (None for a subspace), and what comes along with a filter's rows."""

    X: Array
    y: Array | None
    along: dict[str, Array]

    def cut(self, lo: int, hi: int) -> Chunk:
        """The rows lo to hi."""
        return self.map(lambda a: a[lo:hi])

    def map(self, change: Callable[[Array], Array]) -> Chunk:
        """With every array changed."""
        y = None if self.y is None else change(self.y)
        return Chunk(change(self.X), y, {name: change(a) for name, a in self.along.items()})

    def numbers(self, change: Callable[[Array], Array]) -> Chunk:
        """With X and a y of numbers changed; labels and what comes along stay."""
        y = self.y if self.y is None or self.y.dtype.kind == "U" else change(self.y)
        return Chunk(change(self.X), y, self.along)

    def with_rows(self, X: Array) -> Chunk:
        """The same answers to other rows."""
        return self._replace(X=frozen(X.astype(self.X.dtype)))


def frozen(a: Array) -> Array:
    """The array, which nobody may write to from now on."""
    a.flags.writeable = False
    return a


def bits(a: Array | None) -> bytes:
    """The numbers of an array as they lie in memory."""
    return b"" if a is None else np.ascontiguousarray(a).tobytes()


def draw(
    method: Method, n: int, d: int, outputs: int | None, dtype: str, seed: int, along: bool = False, sign: bool = False
) -> Chunk:
    """Gaussian rows whose columns count less and less, so that a subspace stands out, with answers linear in them."""
    rng = np.random.default_rng([seed, n, d])
    X = rng.standard_normal((n, d)) * np.geomspace(1, 0.25, d)
    shape: tuple[int, ...] = (d,) if outputs is None else (d, outputs)
    y: Any = X @ rng.standard_normal(shape) + 0.1 * rng.standard_normal((n, *shape[1:]))
    if sign:
        y = np.where(y < 0, -1.0, 1.0)
    if method.traits.labels:
        y = np.array(["b", "c", "a"])[(X @ rng.standard_normal((d, 3))).argmax(axis=1)]
    if method.traits.gaps:
        y[3::7] = np.nan  # unseen
    varying = _along(rng, n, d) if along else {}
    chunk = Chunk(X.astype(dtype), None if not method.traits.supervised else y, varying)
    return chunk.map(lambda a: frozen(a.astype(dtype) if a.dtype.kind == "f" else a))


def _along(rng: np.random.Generator, n: int, d: int) -> dict[str, Array]:
    """A motion of its own for each row of a filter's."""
    turn = 0.9 * np.linalg.qr(rng.standard_normal((n, d, d)))[0]
    A = rng.standard_normal((n, d, d)) / np.sqrt(d)
    return {
        "transition": turn,
        "process_noise": 0.1 * A @ np.swapaxes(A, 1, 2),
        "observation_noise": rng.uniform(0.1, 2, n),
    }
