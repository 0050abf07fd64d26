"""Regularized pseudo-inverses of rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def regularized_inverse(A: Array, eps: float) -> Array:
    """A'(A A' + eps I)^+ (p, k) by the SVD of A (k, p).

    Singular values up to sqrt(machine eps) of the largest count as zero.
    """
    size = max(np.abs(A).max(), 1)  # so that neither a singular value nor its square overflows
    V, sigma, Wt = np.linalg.svd(A / size, full_matrices=False)
    nonzero = sigma > math.sqrt(np.finfo(A.dtype).eps) * sigma[0]
    gain = np.divide(1, sigma + eps / size / size / sigma, out=np.zeros_like(sigma), where=nonzero)
    inverse: Array = (Wt.T * gain) @ (V.T / size)
    return inverse
