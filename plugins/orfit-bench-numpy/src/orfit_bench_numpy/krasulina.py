"""Krasulina's rule for k-PCA, declared in `orfit_bench/catalogue/methods/krasulina.py` (Krasulina paper, eq. 8, 9).

Shapes: A (N, d) the rows of a step, Y = A' in the paper; C (d, k), X (N, k), the paper's X'.
"""

from orfit_bench.kernels.linalg import orthonormal_factor
from orfit_bench.kernels.loops import Array, make_subspace_learn, make_subspace_step
from orfit_bench.spec.kernel import Params, State


def rule(s: State, A: Array, p: Params) -> bool:
    """One step along the projected gradient, eq. (8)."""
    C = s.basis
    X = A @ C  # X = C'Y
    C = orthonormal_factor(C - p.step_size[0] / len(A) * ((X @ C.T - A).T @ X))  # eq. (9): QR(C - step/N (C X - Y) X')
    if C is None:
        return False
    s.basis[...] = C
    return True


learn = make_subspace_learn(rule)
step = make_subspace_step(rule)
