"""The singular value decomposition of stored directions and new gradients (thesis, eq. 3.3 and 3.4)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orfit_bench.kernels.linalg import ORTHONORMALIZATION_PERIOD

Array = NDArray[Any]


class Extended(NamedTuple):
    """Stored directions with new gradients: [U Sigma, G] for (Q, R) = new_directions(U, G)."""

    U: Array  # (p, n), orthonormal columns
    sigma: Array  # (n,)
    Q: Array  # (p, a)
    R: Array  # (a, q)
    G: Array  # (p, q)


def leading_singular_vectors(memory: Extended, m: int, t: int) -> tuple[Array, Array]:
    """The first m singular vectors (p, m) and values (m,) of [U Sigma, G], in step t."""
    U, sigma, Q, R, G = memory
    n, a, q = len(sigma), *R.shape
    M = np.zeros((n + a, n + q), U.dtype)  # thesis, eq. (3.3): [U Sigma, G] = [U Q] M
    M[:n, :n] = np.diag(sigma)
    M[:n, n:] = U.T @ G
    M[n:, n:] = R
    V, values, _ = np.linalg.svd(M, full_matrices=False)
    m = min(n + a, m)  # the columns of [U Q]; no more of the values can be nonzero
    U = np.column_stack([U, Q]) @ V[:, :m]  # thesis, eq. (3.4)
    if t % ORTHONORMALIZATION_PERIOD == 0:
        U = np.linalg.qr(U)[0]  # restores orthonormality, some of which every rotation loses
    return U, values[:m]
