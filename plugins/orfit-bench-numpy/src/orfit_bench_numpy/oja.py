"""Oja's rule for k-PCA, declared in `orfit_bench/catalogue/methods/oja.py` (Krasulina paper, after eq. 9).

Shapes: A (N, d) the rows of a step, the columns of Y = A^H in the paper; C (d, k).
"""

from orfit_bench.kernels.fleets import make_fleet_learn
from orfit_bench.kernels.linalg import orthonormal_factor
from orfit_bench.kernels.loops import Array, make_subspace_learn, make_subspace_step
from orfit_bench.spec.kernel import Params, State


def rule(s: State, A: Array, p: Params) -> bool:
    """One step along the unprojected gradient of the variance, eq. (7)."""
    C = s.basis
    C = orthonormal_factor(C + p.step_size[0] / len(A) * (A.conj().T @ (A @ C)))  # QR(C + step/N Y Y^H C)
    if C is None:
        return False
    s.basis[...] = C
    return True


COMPLEX = True
learn = make_subspace_learn(rule)
step = make_subspace_step(rule)
fleet_learn = make_fleet_learn(learn)
