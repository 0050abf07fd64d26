"""Incremental PCA, declared in `orfit_bench/catalogue/methods/incremental_pca.py`.

R. Arora et al. 2012, as named in the Krasulina paper, Experiments.

Shapes: A (N, d) the rows of a step, the columns of Y = A^H in the declaration; U (d, k), Sigma (k,).
"""

from typing import Any

import numpy as np

from orfit_bench.kernels.guards import is_finite
from orfit_bench.kernels.loops import Array, make_subspace_learn, make_subspace_step
from orfit_bench.spec.kernel_arguments import Params, State

MOST_SUMMANDS = 1000
"""The largest number of summands that BLAS adds one after another: longer sums are formed in parts."""


def rounding_of(shape: tuple[int, ...], dtype: Any) -> float:
    """Singular values up to this share of the largest one are only rounding errors."""
    return min(max(shape), MOST_SUMMANDS) * float(np.finfo(dtype).eps)


def rule(s: State, A: Array, p: Params) -> bool:
    """U, Sigma <- the k leading singular vectors and values of [U Sigma, Y]; a zero column for a value of 0.

    U is computed anew in every step, since a U that is only rotated would lose its orthonormality.
    """
    M = np.concatenate([s.basis * s.singular_values, A.conj().T], axis=1)  # (d, k + N): thesis, eq. (3.3)
    if not is_finite(M):  # LAPACK may never return
        return False
    U, sigma, _ = np.linalg.svd(M, full_matrices=False)  # thesis, eq. (3.4)
    if not is_finite(U * sigma):
        return False
    k = len(s.singular_values)
    rank = np.count_nonzero(sigma[:k] > rounding_of(M.shape, M.dtype) * sigma[0])
    s.basis[:, :rank], s.singular_values[:rank] = U[:, :rank], sigma[:rank]
    s.basis[:, rank:], s.singular_values[rank:] = 0, 0
    return True


COMPLEX = True
learn = make_subspace_learn(rule)
step = make_subspace_step(rule)
