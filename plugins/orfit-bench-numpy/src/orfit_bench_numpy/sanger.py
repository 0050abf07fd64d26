"""Sanger's rule, declared in `orfit_bench/catalogue/methods/sanger.py` (Krasulina paper, after eq. 12).

Shapes: A (N, d) the rows of a step, the columns of Y = A^H in the paper; C (d, k), X (k, N).
"""

import numpy as np
from scipy.linalg import solve_triangular

from orfit_bench.kernels.guards import is_finite
from orfit_bench.kernels.loops import Array, make_subspace_learn, make_subspace_step
from orfit_bench.spec.kernel import Params, State


def rule(s: State, A: Array, p: Params) -> bool:
    """One explicit step, without orthonormalization."""
    C = s.basis
    Q, R = np.linalg.qr(C)
    if not np.diagonal(R).all():  # C has lost its rank
        return False
    X = solve_triangular(R, (A @ Q).conj().T, check_finite=False)  # X = C^+ Y = R^-1 Q^H Y
    C = C - p.step_size[0] / len(A) * ((C @ X - A.conj().T) @ X.conj().T)  # C - step/N (C X - Y) X^H
    if not is_finite(C):
        return False
    s.basis[...] = C
    return True


COMPLEX = True
learn = make_subspace_learn(rule)
step = make_subspace_step(rule)
