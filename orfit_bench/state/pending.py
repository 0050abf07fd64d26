"""Rows that wait until they fill a batch."""

from __future__ import annotations

from typing import Any

from orfit_bench.spec.backend import Array


class Waiting:
    """Chunks of rows, copied as they come and joined when they are asked for: a row a call costs O(its length)."""

    def __init__(self, empty: tuple[Array, Array], xp: Any) -> None:
        self._chunks, self._xp, self.count = [empty], xp, 0

    def add(self, X: Array, Y: Array) -> None:
        """Take in a copy of the rows."""
        if len(X):
            self._chunks.append((X.copy(), Y.copy()))
            self.count += len(X)

    def joined(self, *more: Array) -> tuple[Array, Array]:
        """All rows, and these after them: X (n, d) and Y (n, c)."""
        chunks = [*self._chunks, more] if more else self._chunks
        X, Y = (self._xp.concatenate(part) for part in zip(*chunks, strict=True))
        return X, Y

    def clear(self) -> None:
        """Forget all rows."""
        self._chunks, self.count = self._chunks[:1], 0

    def kept(self) -> Waiting:
        """The same rows, safe from what happens to this one: chunks are never written to."""
        twin = Waiting(self._chunks[0], self._xp)
        twin._chunks, twin.count = list(self._chunks), self.count
        return twin
