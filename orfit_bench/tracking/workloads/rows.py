"""Rows and targets that do not depend on the versions of libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def rows(n: int, d: int) -> Array:
    """Return (n, d) uniform numbers of variance 1, computed by SplitMix64 from their positions."""
    with np.errstate(over="ignore"):
        z = np.arange(1, n * d + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    uniform: Array = ((z >> np.uint64(11)) * 2.0**-53 - 0.5) * np.sqrt(12)
    return uniform.reshape(n, d)


def targets(X: Array, kind: str) -> Array | None:
    """Return targets for a kind of methods: a linear function of X with noise, its sign, or None."""
    w = 1 / np.arange(1, X.shape[1] + 1)
    y = X @ w + 0.1 * rows(len(X), 1)[::-1, 0]
    return {"classification": (y > 0).astype(int), "subspace": None}.get(kind, y)
