"""Rows scaled to length 1, for several theorems and one stream."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def unit_rows(X: NDArray[Any]) -> NDArray[Any]:
    """The rows divided by their norms."""
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True))
