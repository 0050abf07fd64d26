"""Incremental PCA (R. Arora et al. 2012, as named in the Krasulina paper)."""

from typing import Any

import numpy as np

from orfit_bench_numpy._algebra import finite
from orfit_bench_numpy._subspace import Array, by_block, by_steps


def rule(s: Any, A: Array, p: Any) -> bool:
    """U, Sigma <- the k leading singular vectors and values of [U Sigma, Y]; a zero column for a value of 0.

    U is orthonormal afresh after every step: of a rotated U, orthonormality would decay.
    """
    M = np.concatenate([s.basis * s.singular_values, A.T], axis=1)  # (d, k + N)
    U, sigma, _ = np.linalg.svd(M, full_matrices=False)
    if not finite(sigma):
        return False
    k = len(s.singular_values)
    rank = np.count_nonzero(sigma[:k] > max(M.shape) * np.finfo(M.dtype).eps * sigma[0])
    s.basis[:, :rank], s.singular_values[:rank] = U[:, :rank], sigma[:rank]
    s.basis[:, rank:], s.singular_values[rank:] = 0, 0
    return True


learn = by_steps(rule)
step = by_block(rule)
