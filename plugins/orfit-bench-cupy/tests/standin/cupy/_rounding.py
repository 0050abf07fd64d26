"""Rounding that differs between a device and NumPy."""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import Any

import numpy as np

TINY = np.finfo(np.float32).tiny


def flushed(a: Any) -> Any:
    """The array with subnormal float32 numbers as zeros: kernels are compiled with -ftz=true."""
    if isinstance(a, np.ndarray) and a.dtype == np.float32:
        small = np.abs(a) < TINY
        small &= a != 0
        if small.any():
            return np.where(small, np.copysign(np.float32(0), a), a)
    return a


def uneven(product: Any, shapes: Any) -> Any:
    """A product whose entries are up to one unit in the last place off, differently for each shape."""
    if not product.size or product.dtype.kind != "f":
        return product
    signs = _signs(shapes, product.shape)
    moved = np.where(
        signs > 0, np.nextafter(product, np.inf), np.where(signs < 0, np.nextafter(product, -np.inf), product)
    )
    usable = np.isfinite(product) & np.isfinite(moved) & (product != 0)
    return np.where(usable, moved, product).astype(product.dtype)


@lru_cache(maxsize=256)
def _signs(shapes: Any, shape: tuple[int, ...]) -> Any:
    random = np.random.default_rng(zlib.crc32(repr(shapes).encode()))
    return random.integers(-1, 2, shape, np.int8)
