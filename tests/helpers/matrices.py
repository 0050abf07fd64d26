"""Matrices that are hard for numerical methods."""

from typing import Any

import numpy as np


def kahan_matrix(n: int) -> np.ndarray[Any, Any]:
    """A triangular matrix with moderate pivots whose condition is exponential in n."""
    s = 1 - 2 / n
    return np.diag(s ** np.arange(n)) @ (np.eye(n) - np.sqrt(1 - s * s) * np.triu(np.ones((n, n)), 1))
