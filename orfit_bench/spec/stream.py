"""A stream: rows in a fixed order, with a test set where that makes sense."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from numpy.typing import NDArray

from orfit_bench.spec.kinds import KindName
from orfit_bench.spec.setting import Setting, check_settings

Array = NDArray[Any]
Pair = tuple[Array, Array]
Rows = tuple[Array, Array | None]
"""X and y; y is None where the stream offers rows alone."""
Offers = Literal["numbers", "labels", "rows"]
OFFERS: dict[str, tuple[KindName, ...]] = {
    "numbers": ("regression", "filter", "subspace"),
    "labels": ("classification", "subspace"),
    "rows": ("subspace",),
}
"""What a stream may offer, and the kinds of methods that can learn it: a subspace needs no y and ignores it."""


@dataclass(frozen=True, slots=True)
class Data:
    """What a stream delivers. X is (n, d); y is (n,) or (n, c) numbers, (n,) labels, or None. Both need only slices."""

    X: Array
    y: Array | None = None
    test: Rows | None = None
    """Rows that are never learned, in the layout of X and y."""
    validation: Rows | None = None
    """Rows for choosing settings; neither learned nor tested on."""
    tasks: tuple[int, ...] = ()
    """Row numbers at which the tasks begin, with the end: task i is rows tasks[i] to tasks[i + 1]."""

    def cut(self, start: int, stop: int) -> Rows:
        """The rows from start to before stop."""
        return self.X[start:stop], None if self.y is None else self.y[start:stop]

    def chunks(self, rows: int) -> Iterator[Rows]:
        """The stream in order, `rows` at a time; the last chunk may be shorter."""
        for i in range(0, len(self.X), rows):
            yield self.cut(i, i + rows)


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
    files: Callable[[], list[Path]] = list
    """The user's files that are here and that the rows are made of: a killed run goes on with the same ones alone."""
    offers: Offers = "numbers"
    """One of OFFERS: what y holds, and so which kinds of methods learn the stream."""

    def __post_init__(self) -> None:
        """Refuse an offer that no method could be planned for."""
        if self.offers not in OFFERS:
            raise ValueError(f"stream {self.name!r}: it offers {self.offers!r}, want one of {', '.join(OFFERS)}")

    def suits(self, kind: str) -> bool:
        """Whether methods of this kind can learn it."""
        return kind in OFFERS[self.offers]

    def load(self, **settings: object) -> Data:
        """Make the data. TypeError for an unknown setting, ValueError outside a range."""
        return self.make(**check_settings(f"stream {self.name!r}", self.settings, settings))
