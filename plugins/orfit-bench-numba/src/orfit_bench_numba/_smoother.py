"""The Rauch-Tung-Striebel smoother's way back: 22/3 d^3 flops a step, near the rate of matrix products.

F P 2 d^3, the Cholesky factor 1/3, the gain 2, L (P - P_pred) 2 and one triangle of that times L' 1. m and P are
written; three matrices d x d are allocated once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs, pinvh

from orfit_bench_numba._compile import compiled
from orfit_bench_numba._noiseless import rounding
from orfit_bench_numba._symmetric import half_of_product, mirror
from orfit_bench_numba._threads import blas_for

Array = NDArray[Any]


def rts(F: Array, m_pred: Array, P_pred: Array, m: Array, P: Array) -> None:
    """theta_(j-1|n) = theta_(j-1|j-1) + L (theta_(j|n) - theta_(j|j-1)), and Sigma likewise, from the last j back.

    With L = Sigma_(j-1|j-1) A_j' Sigma_(j|j-1)^-1.
    """
    rests = np.array([j > 0 and at_rest(F[j], P_pred[j], P[j - 1]) for j in range(len(F))], bool)
    scale = np.diagonal(P_pred, axis1=1, axis2=2)[~rests][np.cumsum(~rests) - 1]  # s.scale of the filter
    L, C, G = (np.empty(P.shape[1:], P.dtype) for _ in range(3))
    with blas_for(7.0 * P.size * P.shape[1]):
        for j in range(len(F) - 1, 0, -1):
            if rests[j]:  # the same state, so what is known of it is the same
                m[j - 1], P[j - 1] = m[j], P[j]
                continue
            np.dot(P[j - 1], F[j].T, out=L)
            solve(L, C, P_pred[j], (F[j] * F[j]) @ np.abs(scale[j - 1]))
            m[j - 1] += L @ (m[j] - m_pred[j])
            np.subtract(P[j], P_pred[j], out=C)
            np.dot(L, C, out=G)
            add_half(P[j - 1], G, L)


def at_rest(F: Array, P_pred: Array, P: Array) -> bool:
    """Whether the state did not move to this step, and nothing was added to its covariance."""
    return np.array_equal(P_pred, P) and np.array_equal(F, np.eye(len(F)))


def solve(L: Array, C: Array, P: Array, scale: Array) -> None:
    """L <- L P^-1, or L P^+ where some direction is known exactly: a variance that is but rounding counts as none.

    Rounding beside the larger of P's diagonal and `scale`, variances of which P is a sum and a difference. C is used
    as room.
    """
    size = np.sqrt(np.maximum(np.diagonal(P), scale))
    unit = np.divide(1, size, out=np.zeros_like(size), where=size > 0)
    np.multiply(P, unit, out=C)
    C *= unit[:, None]
    L *= unit
    potrf, potrs, pocon = get_lapack_funcs(("potrf", "potrs", "pocon"), (L,))
    _, info = potrf(C.T, lower=0, clean=0, overwrite_a=1)  # what C order holds by rows, LAPACK takes by columns
    if info == 0 and least_eigenvalue(C, pocon) > 10 * rounding(P):
        potrs(C.T, L.T, lower=0, overwrite_b=1)
    else:
        np.multiply(P, unit, out=C)
        C *= unit[:, None]
        L[...] = L @ pinvh(C, atol=rounding(P), rtol=0, check_finite=False)
    L *= unit


def least_eigenvalue(L: Array, pocon: Any) -> float:
    """At most, or about, that of L L', whose diagonal is 1 or less."""
    surely = float(np.prod(np.diagonal(L))) ** 2 / np.e  # the others' mean is d / (d - 1) at most
    if surely > 1e-3:
        return surely
    rcond, _ = pocon(L.T, 1)  # 1 / |(L L')^-1|, two or three times too large at most
    return float(rcond)


@compiled("W W R")
def add_half(P: Any, G: Any, L: Any) -> None:
    """P <- P + G L', which is symmetric; G is used up."""
    half_of_product(G, L, np.empty(112 * len(P), P.dtype))
    for i in range(len(P)):
        for j in range(i + 1):
            P[i, j] += G[i, j]
    mirror(P)
