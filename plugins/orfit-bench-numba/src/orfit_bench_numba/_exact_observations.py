"""Kalman updates by rows observed without noise, in NumPy: they cost matrix products and one decomposition.

A combination of rows whose remaining variance is only rounding, relative to the covariance whose diagonal was `scale`,
is known exactly. It is left out, like a linearly dependent row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_blas_funcs

from orfit_bench_numba._symmetric import symmetrize

Array = NDArray[Any]


def learn_exactly(s: Any, J: Array, E: Array, p: Any) -> bool:
    """Sigma <- (I - K X')Sigma(I - K X')' + K R K' with K = Sigma X (R + X'Sigma X)^+: an error of K is squared.

    What is left of a variance that is known exactly is rounding, which the next rows would divide by.
    """
    P, R = s.covariance, p.observation_noise
    K, least = compute_gain(P, J, R, s.scale)
    mean = s.mean + K @ E
    if not np.isfinite(mean).all():
        return False
    s.mean[...] = mean
    subtract_product(P, K, J @ P)
    subtract_product(P, P @ J.T - K @ R, np.ascontiguousarray(K.T))
    symmetrize(P)
    known = np.diagonal(P) <= rounding_bound(P) * s.scale
    P[known], P[:, known] = 0, 0
    if p.is_dynamic:  # which forgets `scale`, beside which the other directions' rounding is known for what it is
        P[...] = drop_known_directions(rounding_bound(P) / least, P, s.scale)  # as I - K X' magnifies it
    return True


def compute_gain(P: Array, J: Array, R: Array, scale: Array) -> tuple[Array, float]:
    """P J'(R + J P J')^+ (p, q), and the least variance kept, of what it was with `scale`.

    The gain is NaN where a variance is negative or not finite.
    """
    U = P @ J.T  # (p, q)
    S = J @ U + R  # (q, q)
    size = np.sqrt((J * J) @ np.abs(scale) + np.abs(np.diagonal(R)))
    refused = np.full_like(U, np.nan), 1.0
    if not np.isfinite(S).all() or not np.isfinite(size).all():
        return refused
    unit = np.divide(1, size, out=np.zeros_like(size), where=size > 0)
    values, W = np.linalg.eigh(unit[:, None] * S * unit)
    if values[0] < -rounding_bound(P):
        return refused
    new = values > rounding_bound(P)
    H = (W[:, new] / np.sqrt(values[new])).T * unit  # H S H' = I
    return (U @ H.T) @ H, float(values[new].min(initial=1))


def subtract_product(P: Array, K: Array, B: Array) -> None:
    """P <- P - K B in place, for K (p, q) and B (q, p)."""
    (gemm,) = get_blas_funcs(("gemm",), (P,))
    gemm(-1, B.T, K.T, beta=1, c=P.T, overwrite_c=1)  # what C order holds by rows, BLAS takes by columns


def drop_known_directions(least: float, P: Array, scale: Array) -> Array:
    """P without the directions whose variance is at most `least` of what it was when the diagonal was `scale`."""
    size = np.sqrt(np.maximum(scale, 0))
    unit = np.divide(1, size, out=np.zeros_like(size), where=size > 0)
    values, W = np.linalg.eigh(unit[:, None] * P * unit)
    new = values > least
    half = (W[:, new] * np.sqrt(values[new])).T * size
    left: Array = half.T @ half  # symmetric to the last bit
    return left


def rounding_bound(P: Array) -> float:
    """What is left of a variance of 1 where nothing should be, at most: a few eps for each of p rows."""
    return 10 * len(P) * float(np.finfo(P.dtype).eps)
