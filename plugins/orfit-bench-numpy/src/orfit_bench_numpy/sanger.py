"""Sanger's rule in the form of the Krasulina paper (after eq. 12)."""

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from orfit_bench_numpy._algebra import finite
from orfit_bench_numpy._subspace import Array, by_block, by_steps


def rule(s: Any, A: Array, p: Any) -> bool:
    """C <- C - step/N (C X - Y) X' with X = C^+ Y = R^-1 Q'Y for C = Q R."""
    C = s.basis
    Q, R = np.linalg.qr(C)
    if not np.diagonal(R).all():
        return False
    X = solve_triangular(R, (A @ Q).T, check_finite=False)  # (k, N)
    C = C - p.step_size[0] / len(A) * ((C @ X - A.T) @ X.T)
    if not finite(C):
        return False
    s.basis[...] = C
    return True


learn = by_steps(rule)
step = by_block(rule)
