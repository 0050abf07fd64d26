"""The memory that arrays hold, as CuPy's pool counts it."""

from __future__ import annotations

ROUNDED_TO = 512
"""Bytes: every block of the pool is a multiple."""


class Pool:
    """Bytes in use, and the most since blocks were last given back; a pool never shrinks by itself."""

    def __init__(self) -> None:
        self._used = self._most = 0

    def take(self, size: int) -> int:
        """Reserve a block; returns its length."""
        taken = -(-size // ROUNDED_TO) * ROUNDED_TO
        self._used += taken
        self._most = max(self._most, self._used)
        return taken

    def put(self, size: int) -> None:
        """Give a block back to the pool."""
        self._used -= size

    def used_bytes(self) -> int:
        """Of arrays that exist."""
        return self._used

    def total_bytes(self) -> int:
        """That the pool has taken from the device."""
        return self._most

    def free_all_blocks(self, stream: object = None) -> None:
        """Give the device what no array uses."""
        self._most = self._used


POOL = Pool()


class Block:
    """The memory of one array and of its views."""

    __slots__ = ("size",)

    def __init__(self, size: int) -> None:
        self.size = POOL.take(size)

    def __del__(self) -> None:
        POOL.put(self.size)
