"""Roots of covariances: matrices S with S S' = P, triangularized by orthogonal transformations.

Shapes: P (d, d) symmetric and positive semidefinite, A (d, n), S (d, d).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def root_of(P: Array) -> Array:
    """S with S S' = P, diagonal where P is; directions of no variance are allowed."""
    diagonal = np.diagonal(P)
    if np.count_nonzero(P) == np.count_nonzero(diagonal):
        return np.diag(np.sqrt(diagonal))
    try:
        return np.linalg.cholesky(P)
    except np.linalg.LinAlgError:
        values, U = np.linalg.eigh(P)
        return np.asarray(U * np.sqrt(np.maximum(values, 0)))


def triangularize_columns(A: Array) -> Array:
    """The lower triangular S (d, d) with S S' = A A' and no negative number on its diagonal."""
    T: Any = np.linalg.qr(A.T, mode="r")
    S = np.zeros((len(A), len(A)), A.dtype)
    S[:, : len(T)] = (T * np.where(np.diagonal(T) < 0, -1, 1)[:, None].astype(A.dtype)).T
    return np.tril(S)
