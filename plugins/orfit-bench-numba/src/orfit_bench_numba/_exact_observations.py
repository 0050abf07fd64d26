"""Kalman updates for rows observed without noise, in NumPy: they cost matrix products and one decomposition.

A combination of rows is known exactly if its remaining variance is only rounding, relative to the covariance with the
diagonal `scale`. It is left out, like a linearly dependent row.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import get_blas_funcs

from orfit_bench.kernels.exact_observations import exact_gain, judge_errors, remove_known_variances
from orfit_bench.kernels.guards import DEGRADED, REFUSED
from orfit_bench.spec.kernel_arguments import FilterParams, State
from orfit_bench_numba._arrays import Array
from orfit_bench_numba._symmetric import symmetrize


def learn_exactly(s: State, J: Array, E: Array, p: FilterParams) -> bool:
    """Correction for singular R in Joseph form, P <- (I - K J) P (I - K J)' + K R K' with K = P J' (J P J' + R)^+.

    In this form errors of K enter only squared. A direction that becomes known exactly keeps a variance of pure
    rounding; it is set to zero so that later rows do not divide by it.
    """
    P, R = s.covariance, p.observation_noise
    K, H, least = exact_gain(P, J, R, s.scale)
    mean = s.mean + K @ E
    verdict = judge_errors(s, H, J, E, p)
    if verdict == REFUSED or not np.isfinite(mean).all():
        return False
    s.mean[...] = mean
    subtract_product(P, K, J @ P)
    subtract_product(P, P @ J.T - K @ R, np.ascontiguousarray(K.T))
    symmetrize(P)
    if remove_known_variances(P, s.scale, least, p.is_dynamic) or verdict == DEGRADED:
        s.precision_lost[...] = 1
    return True


def subtract_product(P: Array, K: Array, B: Array) -> None:
    """Compute P <- P - K B in place, for K (p, q) and B (q, p)."""
    (gemm,) = get_blas_funcs(("gemm",), (P,))
    gemm(-1, B.T, K.T, beta=1, c=P.T, overwrite_c=1)  # a C-order array is its transpose for BLAS
