"""Views of the rows of a stream that are standardized by running moments and have an intercept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from orfit_bench.learners.pipelines.standardizer import Standardizer
from orfit_bench.learners.pipelines.transforms import Intercept
from orfit_bench.spec import Data
from orfit_bench.tables.row_view import RowView

CHUNK = 4096


class StandardizedRows(RowView):
    """The rows of a stream, each standardized by the moments of all rows up to and including it."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows
        self._last = 0, Standardizer()
        """The end of the last slice, and the transform after it."""
        self._after = [Standardizer()]
        """The transforms after 0, CHUNK, 2 CHUNK, ... rows, so that an earlier slice can be read again."""

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, piece: slice) -> Any:
        if not isinstance(piece, slice) or piece.step not in (None, 1):
            raise TypeError(f"standardized rows support slices only: got {piece!r}, want X[a:b]")
        start, stop, _ = piece.indices(len(self))
        if stop <= start:
            return np.asarray(self._rows[start:stop], float)
        after, found = self.up_to(start).learn(np.asarray(self._rows[start:stop], float))
        self._last = stop, after
        return found

    def up_to(self, row: int) -> Standardizer:
        """The transform after this number of rows."""
        number = min(row // CHUNK, len(self._after) - 1)
        done, transform = number * CHUNK, self._after[number]
        if done <= self._last[0] <= row:
            done, transform = self._last
        while done < row:
            stop = min((done // CHUNK + 1) * CHUNK, row)
            transform, _ = transform.learn(np.asarray(self._rows[done:stop], float))
            done = stop
            if done == len(self._after) * CHUNK:
                self._after.append(transform)
        self._last = row, transform
        return transform


class TransformedRows(RowView):
    """Rows that are transformed when read."""

    def __init__(self, rows: Any, transform: Callable[[Any], Any]) -> None:
        self._rows, self._transform = rows, transform

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, piece: slice) -> Any:
        return self._transform(np.asarray(self._rows[piece], float))


def preprocess(data: Data, standardise: bool, intercept: bool) -> Data:
    """The data with transformed rows; test and validation rows by the moments of the whole stream and of the row."""
    if standardise:
        rows: Any = StandardizedRows(data.X)
        final = rows.up_to(len(rows)) if data.test or data.validation else Standardizer()
        data = _with_rows(data, rows, final.transform)
    if not intercept:
        return data
    return _with_rows(data, TransformedRows(data.X, Intercept().transform), Intercept().transform)


def _with_rows(data: Data, X: Any, transform: Callable[[Any], Any]) -> Data:
    """The data with X instead of the rows, and with transformed test and validation rows, computed if in memory."""

    def held_out(part: Any) -> Any:
        return part and (_computed(part[0], TransformedRows(part[0], transform)), part[1])

    return replace(data, X=_computed(data.X, X), test=held_out(data.test), validation=held_out(data.validation))


def _computed(rows: Any, view: Any) -> Any:
    """The rows of the view, as an array if the underlying rows are an array."""
    return np.asarray(view) if isinstance(rows, np.ndarray) else view
