"""Rows of a stream that are standardized by the running moments and get an intercept, as views."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from orfit_bench.learners.pipelines.transforms import Intercept, Standardizer
from orfit_bench.spec import Data

CHUNK = 4096


class StandardizedRows:
    """The rows of a stream, each standardized by the moments of the rows up to itself. Supports `len` and slices."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows
        self._after: dict[int, Standardizer] = {0: Standardizer()}
        """The transform after so many rows, where a slice ended."""

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def shape(self) -> tuple[int, ...]:
        """As that of the rows."""
        return tuple(self._rows.shape)

    def __getitem__(self, piece: slice) -> Any:
        if not isinstance(piece, slice) or piece.step not in (None, 1):
            raise TypeError(f"standardized rows support slices only: got {piece!r}, want X[a:b]")
        start, stop, _ = piece.indices(len(self))
        if stop <= start:
            return np.asarray(self._rows[start:stop], float)
        self._after[stop], found = self.up_to(start).learn(np.asarray(self._rows[start:stop], float))
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self[:], dtype)

    def up_to(self, row: int) -> Standardizer:
        """The transform after so many rows."""
        done = max(at for at in self._after if at <= row)
        transform = self._after[done]
        for start in range(done, row, CHUNK):
            transform, _ = transform.learn(np.asarray(self._rows[start : min(start + CHUNK, row)], float))
        self._after[row] = transform
        return transform


class RowsWithIntercept:
    """Rows with a column of ones behind the others. Supports `len` and slices."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def shape(self) -> tuple[int, ...]:
        """One column more than the rows."""
        return len(self), self._rows.shape[1] + 1

    def __getitem__(self, piece: slice) -> Any:
        return Intercept().transform(np.asarray(self._rows[piece], float))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self[:], dtype)


def preprocess(data: Data, standardise: bool, intercept: bool) -> Data:
    """The data with transformed rows; test and validation rows by the moments of the whole stream."""
    if standardise:
        rows: Any = StandardizedRows(data.X)
        final = rows.up_to(len(rows)) if data.test or data.validation else Standardizer()
        data = _with_rows(data, rows, final.transform)
    return _with_rows(data, RowsWithIntercept(data.X), Intercept().transform) if intercept else data


def _with_rows(data: Data, X: Any, transform: Any) -> Data:
    held_out = (part and (transform(np.asarray(part[0], float)), part[1]) for part in (data.test, data.validation))
    test, validation = held_out
    return replace(data, X=X, test=test, validation=validation)
