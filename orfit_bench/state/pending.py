"""Rows that wait until they fill a batch."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

from orfit_bench.spec.backend import Array


@dataclass(frozen=True, slots=True)
class PendingRows:
    """Pending rows as a value: chunks are copied as they come and never written to."""

    chunks: tuple[tuple[Array, Array], ...]
    """Pairs X (n, d) and Y (n, c); the first pair is empty and gives shape and dtype."""
    count: int = 0

    def with_rows(self, X: Array, Y: Array) -> PendingRows:
        """These rows and a copy of more after them."""
        return PendingRows((*self.chunks, (X.copy(), Y.copy())), self.count + len(X)) if len(X) else self

    def without_rows(self) -> PendingRows:
        """No rows."""
        return PendingRows(self.chunks[:1])

    def concatenate(self, namespace: ModuleType, *more: Array) -> tuple[Array, Array]:
        """All rows, and these after them: X (n, d) and Y (n, c)."""
        chunks = (*self.chunks, more) if more else self.chunks
        X, Y = (namespace.concatenate(part) for part in zip(*chunks, strict=True))
        return X, Y
