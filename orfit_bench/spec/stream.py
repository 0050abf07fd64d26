"""A stream: rows in a fixed order, with a test set where that makes sense."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from orfit_bench.spec.setting import Setting, checked

Array = NDArray[Any]
Pair = tuple[Array, Array]


@dataclass(frozen=True, slots=True)
class Data:
    """What a stream delivers. X is (n, d), y is (n,) or (n, c); both need only `len` and slices."""

    X: Array
    y: Array
    test: Pair | None = None
    """Rows that are never learned, in the layout of X and y."""
    validation: Pair | None = None
    """Rows for choosing settings; neither learned nor tested on."""
    tasks: tuple[int, ...] = ()
    """Row numbers at which the tasks begin, with the end: task i is rows tasks[i] to tasks[i + 1]."""

    def chunks(self, rows: int) -> Iterator[Pair]:
        """The stream in order, `rows` at a time; the last chunk may be shorter."""
        for i in range(0, len(self.X), rows):
            yield self.X[i : i + rows], self.y[i : i + rows]


@dataclass(frozen=True, slots=True)
class Stream:
    """A named source of data. `load` takes the settings by name and returns the same data each time."""

    name: str
    summary: str
    make: Callable[..., Data]
    settings: tuple[Setting, ...] = ()
    source: str = ""
    probe: Callable[[], str] = lambda: ""
    """Why the stream cannot be loaded here (its data are absent, say); empty when it can."""

    def load(self, **settings: Any) -> Data:
        """Make the data. TypeError for an unknown setting, ValueError outside a range."""
        return self.make(**checked(f"stream {self.name!r}", self.settings, settings))
