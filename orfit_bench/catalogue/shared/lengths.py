"""Rows of length 1, in which several theorems and one stream are stated."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def unit_rows(X: NDArray[Any]) -> NDArray[Any]:
    """The rows divided by their norms."""
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True))
