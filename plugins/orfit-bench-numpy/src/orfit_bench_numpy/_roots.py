"""Roots of covariances and of information: matrices S (d, d) with S S' = A A' for A (d, n), by QR decomposition."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def triangularize_columns(A: Array) -> Array:
    """The lower triangular S (d, d) with S S' = A A' and no negative number on its diagonal."""
    T: Any = np.linalg.qr(A.T, mode="r")
    S = np.zeros((len(A), len(A)), A.dtype)
    S[:, : len(T)] = with_positive_diagonal(T).T
    return np.tril(S)


def with_positive_diagonal(T: Array) -> Array:
    """T with each row multiplied by a number of absolute value 1, so that no number on its diagonal is negative."""
    diagonal = np.diagonal(T)
    size = np.abs(diagonal)
    turned: Array = T * np.divide(size, diagonal, out=np.ones_like(diagonal), where=size > 0)[:, None]
    return turned
