"""Predictions of ridge regression for every row of a block just before it is learned, from one factorization.

For b rows X with weights v_j relative to L, the weights before the block are w = L^-1 m. With L = C C',
A = V^(1/2) X C^-T and I + A A' = T T', the errors e_j of the predictions before each row are the solution of
T diag(T)^-1 V^(1/2) e = V^(1/2) (Y - X w); for complex numbers with conjugate transposes. The predictions are
X w + V^(-1/2) N z with z = diag(T)^-1 V^(1/2) e, where N is the part of T below its diagonal; Y - e would have the
rounding errors of Y. A row costs d^3 / (3 b) + 2 d^2 + b d flops.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import get_blas_funcs, get_lapack_funcs

from orfit_bench.kernels.guards import is_finite
from orfit_bench.kernels.information import (
    MAX_VARIANCE,
    factor_information,
    is_solvable,
    solve_factored,
    solve_normal_equations,
    without_overflow,
)
from orfit_bench_numba._arrays import Array

RANGE = math.log(1e3)
"""Logarithm of the ratio of weights within a block."""


def block_size(d: int, ff: float) -> int:
    """The number of rows for which the parts of a block cost the same; fewer if their weights differ too much."""
    rows = min(max(d // 2, 32), 512)
    return rows if ff == 1 else max(1, min(rows, int(RANGE / abs(math.log(ff)))))


def predict_block(L: Array, m: Array, X: Array, Y: Array, ff: float, t: int, out: Array) -> bool:
    """Write the predictions of the rows to `out`; False if products of several rows would lose precision."""
    if len(X) == 1:
        out[...] = X @ solve_normal_equations(L, m)[0]
        return True
    C, precision = factor_information(L)
    if not is_solvable(L, precision):
        return False
    steps = np.arange(len(X)) + (1 if ff <= 1 else t)
    root = (ff ** (-steps / 2.0)).astype(X.dtype)[:, None]
    (trsm, trmm), (potrf,) = get_blas_funcs(("trsm", "trmm"), (X,)), get_lapack_funcs(("potrf",), (X,))
    A = root * X.conj()  # conj(A) of the formulas
    trsm(1, C.T, A.T, side=0, lower=0, trans_a=1, overwrite_b=1)  # a C-order array is its transpose for BLAS
    K = A.conj() @ A.T
    if not (root.all() and np.diagonal(K).real.max() < MAX_VARIANCE[np.finfo(X.dtype).dtype.char]):  # also refuses NaN
        return False
    K.flat[:: len(K) + 1] += 1
    T = potrf(K.T, lower=0, clean=0, overwrite_a=1)[0].T
    w = without_overflow(lambda m: solve_factored(C, m), m)
    if not is_finite(w):
        return False
    f = X @ w
    z = root * (Y - f)
    trsm(1, T.T, z.T, side=1, lower=0, overwrite_b=1)
    T.flat[:: len(T) + 1] = 0
    trmm(1, T.T, z.T, side=1, lower=0, overwrite_b=1)
    out[...] = f + z / root
    return True
