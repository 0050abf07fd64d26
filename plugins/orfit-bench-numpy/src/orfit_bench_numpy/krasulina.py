"""Krasulina's rule for k-PCA, declared in `orfit_bench/catalogue/methods/krasulina.py` (Krasulina paper, eq. 8, 9).

Shapes: A (N, d) the rows of a step, the columns of Y = A^H in the paper; C (d, k), X (N, k), the X^H of the paper.
"""

from orfit_bench.kernels.linalg import orthonormal_factor
from orfit_bench.kernels.loops import Array, make_subspace_learn, make_subspace_step
from orfit_bench.spec.kernel import Params, State


def rule(s: State, A: Array, p: Params) -> bool:
    """One step along the projected gradient, eq. (8)."""
    C = s.basis
    X = A @ C  # X^H for X = C^H Y
    residual = X @ C.conj().T - A  # (C X - Y)^H
    C = orthonormal_factor(
        C - p.step_size[0] / len(A) * (residual.conj().T @ X)
    )  # eq. (9): QR(C - step/N (C X - Y) X^H)
    if C is None:
        return False
    s.basis[...] = C
    return True


COMPLEX = True
learn = make_subspace_learn(rule)
step = make_subspace_step(rule)
