"""The rows of the checks, of the kind that a method learns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orfit_bench.spec import Method

Array = NDArray[Any]
Targets = Literal["numbers", "signs", "classes"]
ROWS, FEATURES = 24, 5
"""Numbers of rows and features: enough to fill every memory, and for two components and their complement."""
MANY_OUTPUTS = 6
"""More than four, the largest number of outputs that algorithms for few outputs learn together."""
OUTPUTS = (3, 4, MANY_OUTPUTS, 9)
"""Numbers of outputs below and above that limit, and one that is not a multiple of it."""


class Chunk(NamedTuple):
    """X (n, d), y (None for a subspace), and the time-varying arguments of a filter, one value for each row."""

    X: Array
    y: Array | None
    time_varying: dict[str, Array]

    def cut(self, lo: int, hi: int) -> Chunk:
        """The rows lo to hi."""
        return self.map(lambda a: a[lo:hi])

    def map(self, change: Callable[[Array], Array]) -> Chunk:
        """Apply a function to every array."""
        y = None if self.y is None else change(self.y)
        return Chunk(change(self.X), y, {name: change(a) for name, a in self.time_varying.items()})

    def repeat(self, n: int) -> Chunk:
        """The rows, each repeated n times."""
        return self.map(lambda a: frozen(np.repeat(a, n, axis=0)))

    def numbers(self, change: Callable[[Array], Any]) -> Chunk:
        """Apply a function only to X and numeric targets."""
        y = self.y if self.y is None or self.y.dtype.kind == "U" else change(self.y)
        return Chunk(change(self.X), y, self.time_varying)

    def with_rows(self, X: Array) -> Chunk:
        """The rows X with the same targets."""
        return self._replace(X=frozen(X.astype(self.X.dtype)))

    @property
    def has_any_numbers(self) -> bool:
        """Whether the targets are numbers of any size, not labels, signs or probabilities."""
        y = self.y
        return y is not None and y.dtype.kind == "f" and not bool(np.isin(y, (-1, 0, 1)).all())

    def scale_rows(self, power: int) -> Chunk:
        """The rows times a power of two."""
        return self.with_rows(scale_by_power(self.X, power))

    def scale_targets(self, power: int) -> Chunk:
        """Numeric targets times a power of two."""
        y = self.y
        return self if y is None or y.dtype.kind == "U" else self._replace(y=frozen(scale_by_power(y, power)))


def scale_by_power(a: Array, power: int) -> Array:
    """The numbers times a power of two, rounded once."""
    if a.dtype.kind != "c":
        return np.asarray(np.ldexp(a, power))
    scaled: Array = np.ldexp(a.real, power) + 1j * np.ldexp(a.imag, power)
    return scaled


def frozen(a: Array) -> Array:
    """Make the array read-only."""
    a.flags.writeable = False
    return a


def bits(a: Array | None) -> bytes:
    """The bytes of an array."""
    return b"" if a is None else np.ascontiguousarray(a).tobytes()


def draw(
    method: Method,
    n: int,
    d: int,
    outputs: int | None,
    dtype: str,
    seed: int,
    time_varying: bool = False,
    targets: Targets = "numbers",
) -> Chunk:
    """Draw Gaussian rows with columns of decreasing scale, and noisy linear targets.

    Alternatively the signs of these targets, or a 0/1 column for each class. There are `outputs` classes or labels, or
    three if it is None; if it is given, each label occurs in the first rows.
    """
    rng = np.random.default_rng([seed, n, d])
    X = rng.standard_normal((n, d)) * np.geomspace(1, 0.25, d)
    shape: tuple[int, ...] = (d,) if outputs is None else (d, outputs)
    y: Any = X @ rng.standard_normal(shape) + 0.1 * rng.standard_normal((n, *shape[1:]))
    if targets == "signs":
        y = np.where(y < 0, -1.0, 1.0)
    if targets == "classes":
        y = np.eye(outputs or 3)[(X @ rng.standard_normal((d, outputs or 3))).argmax(axis=1)]
    if method.traits.labels:
        labels = np.array(list("bcafedihg")[: outputs or 3])
        y = labels[(X @ rng.standard_normal((d, len(labels)))).argmax(axis=1)]
        if outputs:
            y[:outputs] = labels[:n]
    if method.traits.gaps:
        y[3::7] = np.nan  # not observed
    if np.dtype(dtype).kind == "c":
        imaginary = rng.standard_normal((n, d)) * np.geomspace(1, 0.25, d)
        X = X + 1j * imaginary
        y = y + 1j * (imaginary @ rng.standard_normal(shape))
    varying = _draw_time_varying(rng, n, d) if time_varying else {}
    chunk = Chunk(X.astype(dtype), None if not method.traits.supervised else y, varying)
    return chunk.map(lambda a: frozen(a.astype(dtype) if a.dtype.kind in "fc" else a))


def _draw_time_varying(rng: np.random.Generator, n: int, d: int) -> dict[str, Array]:
    """A state-space model that changes with every row."""
    transition = 0.9 * np.linalg.qr(rng.standard_normal((n, d, d)))[0]
    A = rng.standard_normal((n, d, d)) / np.sqrt(d)
    return {
        "transition": transition,
        "process_noise": 0.1 * A @ np.swapaxes(A, 1, 2),
        "observation_noise": rng.uniform(0.1, 2, n),
    }
