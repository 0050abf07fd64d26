"""Rows X and y of a source, read in batches when they are requested."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from orfit_bench.tables.encoding import ENCODED, Encoding
from orfit_bench.tables.row_view import RowView
from orfit_bench.tables.sources import BATCH, Batch, Source
from orfit_bench.tables.values import Array, as_labels, as_texts, decoded, exact_numbers, refuse_infinite

LABELS = ("integer", "boolean", *ENCODED)
"""Prefixes of the kinds of columns whose targets can be labels other than strings."""


class Cursor:
    """Reads ranges of rows; consecutive ranges are read without going back."""

    def __init__(self, source: Source, encoding: Encoding, targets: tuple[str, ...], gaps: bool = False) -> None:
        """Read from a source: X by the encoding, y from the targets, which can be missing (NaN) with `gaps`."""
        self.source, self.encoding, self.targets, self.gaps = source, encoding, targets, gaps
        self._columns = [*encoding.columns, *targets]
        self._batches: Iterator[Batch] = iter(())
        self._block = (np.empty((0, len(encoding.names))), self._read_targets({}, 0))
        self._start = self._end = -1  # nothing has been read
        self._last: tuple[int, int, tuple[Array, Array]] = (0, 0, self._block)
        self._gathered: tuple[Array, tuple[Array, Array]] | None = None

    def read(self, start: int, stop: int) -> tuple[Array, Array]:
        """X (stop - start, d) and y of these rows."""
        if (start, stop) == self._last[:2]:  # X and y of a chunk are requested one after the other
            return self._last[2]
        if start < self._start or start > self._end:
            self._batches, self._start, self._end = self.source.read(self._columns, start), start, start
        parts = [self._block] if start < self._end else []
        offset = self._start
        while self._end < stop and (batch := next(self._batches, None)) is not None:
            block = self.encoding.encode(batch, self._end), self._read_targets(batch, self._end)
            self._block, self._start, self._end = block, self._end, self._end + len(block[0])
            if not parts:
                offset = self._start
            parts.append(block)
        if self._end < stop and self._end < self.source.rows:
            raise ValueError(
                f"{self.source.name}: it had {self.source.rows} rows when it was opened, but ends at row {self._end}: "
                f"it was changed while it was read; start again"
            )
        X, y = (np.concatenate(a) if len(a) > 1 else a[0] for a in zip(*(parts or [self._block]), strict=True))
        rows = slice(start - offset, stop - offset) if parts else slice(0, 0)
        self._last = start, stop, (X[rows], y[rows])
        return self._last[2]

    def gather(self, places: Array) -> tuple[Array, Array]:
        """X (n, d) and y of the rows at these positions, for which the file is read once from the first to the last."""
        if self._gathered is not None and np.array_equal(places, self._gathered[0]):
            return self._gathered[1]
        wanted, inverse = np.unique(places, return_inverse=True)
        parts = [] if len(wanted) else [self.read(0, 0)]
        while len(wanted):
            here = wanted[: np.searchsorted(wanted, wanted[0] + BATCH)]
            X, y = self.read(int(here[0]), int(here[-1]) + 1)
            parts.append((X[here - here[0]], y[here - here[0]]))
            wanted = wanted[len(here) :]
        X, y = (np.concatenate(a)[inverse] for a in zip(*parts, strict=True))
        self._gathered = places, (X, y)
        return X, y

    def _read_targets(self, batch: Batch, first: int) -> Array:
        """Y (n, c) of several columns, y (n,) of one: numbers, integers, booleans or strings."""
        if len(self.targets) == 1 and self.source.kinds[self.targets[0]] == "text":
            texts = as_texts(batch[self.targets[0]]) if batch else []
            if None in texts:
                self._refuse_missing(self.targets[0], first + texts.index(None))
            return np.array(texts, object)
        kind = self.source.kinds[self.targets[0]] if len(self.targets) == 1 and not self.gaps else ""
        if kind.startswith(LABELS):
            batch = {name: decoded(batch[name]) for name in self.targets if batch}
            labels = as_labels(batch[self.targets[0]]) if batch else np.empty(0, np.int64)
            if labels is not None:
                return labels
        Y = np.empty((len(next(iter(batch.values()), ())), len(self.targets)))
        for i, name in enumerate(self.targets if batch else ()):
            Y[:, i] = exact_numbers(batch[name], self.source.name, name, first)
        refuse_infinite(Y, self.source.name, self.targets, first)
        if not self.gaps and np.isnan(Y).any():
            row, column = (int(i) for i in np.argwhere(np.isnan(Y))[0])
            self._refuse_missing(self.targets[column], first + row)
        return Y[:, 0] if len(self.targets) == 1 else Y

    def _refuse_missing(self, name: str, row: int) -> None:
        raise ValueError(
            f"{self.source.name}: the target {name!r} has no value in row {row}, counted from 0: leave out rows "
            f"without a target, or keep them for filters (--gaps, or gaps=True)"
        )


class View(RowView):
    """X or y of the rows of a file from `start` up to, but not including, `stop`."""

    def __init__(self, cursor: Cursor, which: int, start: int, stop: int) -> None:
        self._cursor, self._which, self._start, self._stop = cursor, which, start, stop

    def __len__(self) -> int:
        return self._stop - self._start

    def __getitem__(self, piece: slice) -> Array:
        if not isinstance(piece, slice) or piece.step not in (None, 1):
            raise TypeError(f"rows of a file support slices only: got {piece!r}, want X[a:b] or np.asarray(X)")
        start, stop, _ = piece.indices(len(self))
        found = self._cursor.read(self._start + start, self._start + max(start, stop))[self._which]
        return found.copy()  # the cursor keeps these rows

    def at(self, places: Array) -> Array:
        """The rows at these positions."""
        return self._cursor.gather(self._start + places)[self._which].copy()
