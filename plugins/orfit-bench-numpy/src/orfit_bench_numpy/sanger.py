"""Sanger's rule, declared in `orfit_bench/catalogue/methods/sanger.py` (Krasulina paper, after eq. 12).

Shapes: A (N, d) the rows of a step, the columns of Y = A^H in the paper; C (d, k), X (k, N).
"""

from orfit_bench.kernels.guards import is_finite
from orfit_bench.kernels.linalg import coordinates_of_rows
from orfit_bench.kernels.loops import Array, make_subspace_learn, make_subspace_step
from orfit_bench.spec.kernel_arguments import Params, State


def rule(s: State, A: Array, p: Params) -> bool:
    """Take one explicit step, without orthonormalization."""
    C = s.basis
    X = coordinates_of_rows(C, A)  # X = C^+ Y
    if X is None:
        return False
    C = C - p.step_size[0] / len(A) * ((C @ X - A.conj().T) @ X.conj().T)  # C - step/N (C X - Y) X^H
    if not is_finite(C):
        return False
    s.basis[...] = C
    return True


COMPLEX = True
learn = make_subspace_learn(rule)
step = make_subspace_step(rule)
