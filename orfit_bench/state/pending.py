"""Rows that wait until they fill a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from orfit_bench.spec.arrays import copy_of
from orfit_bench.spec.backend import Array


@dataclass(frozen=True, slots=True)
class PendingRows:
    """Pending rows as a value: chunks are copied as they come and never written to."""

    chunks: tuple[tuple[Array, Array], ...]
    """Pairs X (n, d) and Y (n, c); the first pair is empty and gives shape and dtype."""
    xp: Any
    """The namespace of the arrays."""
    count: int = 0
    copies: int = 0
    """How many of them are further copies of a row, which its weight repeats; 0 after the state was saved."""

    def with_rows(self, X: Array, Y: Array) -> PendingRows:
        """The pending rows, followed by a copy of further ones."""
        return self._with(copy_of(X, self.xp), copy_of(Y, self.xp)) if X.shape[0] else self

    @property
    def rows(self) -> int:
        """The number of rows of the stream among them."""
        return self.count - self.copies

    def _with(self, X: Array, Y: Array) -> PendingRows:
        chunks, last = self.chunks, (X, Y)
        while len(chunks) > 1 and chunks[-1][0].shape[0] <= last[0].shape[0]:  # so that there are only a few chunks
            last = self._joined((chunks[-1], last))
            chunks = chunks[:-1]
        return PendingRows((*chunks, last), self.xp, self.count + X.shape[0], self.copies)

    def without_rows(self) -> PendingRows:
        """The value without rows."""
        return PendingRows(self.chunks[:1], self.xp)

    def concatenate(self, *more: Array) -> tuple[Array, Array]:
        """All rows, followed by `more`: X (n, d) and Y (n, c)."""
        return self._joined((*self.chunks, more) if more else self.chunks)

    def _joined(self, chunks: Sequence[tuple[Array, ...]]) -> tuple[Array, Array]:
        X, Y = (self.xp.concat(part) for part in zip(*chunks, strict=True))
        return X, Y
