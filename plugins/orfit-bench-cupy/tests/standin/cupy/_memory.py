"""The memory that arrays hold, as CuPy's pool counts it."""

from __future__ import annotations

ROUNDED_TO = 512
"""Every block of the pool is a multiple of this number of bytes."""


class Pool:
    """Bytes in use, and their maximum since blocks were last released; a pool never shrinks by itself."""

    def __init__(self) -> None:
        self._used = self._most = 0

    def take(self, size: int) -> int:
        """Reserve a block; returns its length."""
        taken = -(-size // ROUNDED_TO) * ROUNDED_TO
        self._used += taken
        self._most = max(self._most, self._used)
        return taken

    def put(self, size: int) -> None:
        """Return a block to the pool."""
        self._used -= size

    def used_bytes(self) -> int:
        """The bytes of existing arrays."""
        return self._used

    def total_bytes(self) -> int:
        """The bytes that the pool has allocated on the device."""
        return self._most

    def free_all_blocks(self, stream: object = None) -> None:
        """Release the memory that no array uses."""
        self._most = self._used


POOL = Pool()


class Block:
    """The memory of one array and of its views."""

    __slots__ = ("size",)

    def __init__(self, size: int) -> None:
        self.size = POOL.take(size)

    def __del__(self) -> None:
        POOL.put(self.size)
