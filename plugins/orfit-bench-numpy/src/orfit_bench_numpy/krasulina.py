"""Krasulina's rule for k-PCA, declared in `orfit_bench/catalogue/methods/krasulina.py` (Krasulina paper, eq. 8, 9).

Shapes: A (N, d) the rows of a step, the columns of Y = A^H in the paper; C (d, k), X (k, N).
"""

from orfit_bench.kernels.linalg import orthonormal_factor
from orfit_bench.kernels.loops import Array, make_subspace_learn, make_subspace_step
from orfit_bench.spec.kernel_arguments import Params, State


def rule(s: State, A: Array, p: Params) -> bool:
    """Take one step against the projected gradient of eq. (8), and orthonormalize: eq. (9)."""
    C = s.basis
    X = (A @ C).conj().T  # X = C^H Y
    C = C - p.step_size[0] / len(A) * ((C @ X - A.conj().T) @ X.conj().T)  # eq. (9): C - step/N (C X - Y) X^H
    C = orthonormal_factor(C)  # eq. (9): the factor Q of QR(C)
    if C is None:
        return False
    s.basis[...] = C
    return True


COMPLEX = True
learn = make_subspace_learn(rule)
step = make_subspace_step(rule)
