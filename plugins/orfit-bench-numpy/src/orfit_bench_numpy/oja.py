"""Oja's rule for k-PCA, declared in `orfit_bench/catalogue/methods/oja.py` (Krasulina paper, after eq. 9).

Shapes: A (N, d) the rows of a step, the columns of Y = A^H in the paper; C (d, k).
"""

import numpy as np

from orfit_bench.kernels.fleets import make_batched_rounds
from orfit_bench.kernels.linalg import orthonormal_factor, orthonormal_factors
from orfit_bench.kernels.loops import Array, make_subspace_learn, make_subspace_step
from orfit_bench.spec.kernel_arguments import FleetParams, Params, State


def rule(s: State, A: Array, p: Params) -> bool:
    """Take one step against the Euclidean gradient of the loss (7), and orthonormalize by QR."""
    C = s.basis
    C = C + p.step_size[0] / len(A) * (A.conj().T @ (A @ C))  # C + step/N Y Y^H C
    C = orthonormal_factor(C)  # QR(C)
    if C is None:
        return False
    s.basis[...] = C
    return True


COMPLEX = True
learn = make_subspace_learn(rule)
step = make_subspace_step(rule)


def step_members(s: State, x: Array, y: Array, p: FleetParams, j: Array, row: Array, out: Array | None) -> Array:
    """Learn one row of each of m members: x (m, d) rows, s.basis (m, d, k).

    See `orfit_bench.kernels.fleets.Step` for j and row.
    """
    C, c = s.basis, x[:, None] @ s.basis  # (m, 1, k): c = C'x
    Q, applied = orthonormal_factors(C + p.step_size[row, None, None] * (x[:, :, None] @ c))  # QR(C + step x x'C)
    np.copyto(C, Q, where=applied[:, None, None])
    return applied


fleet_learn = make_batched_rounds(step_members)
