"""Affine projection, declared in `orfit_bench/catalogue/methods/apa.py` (survey, the programs (APA), (APA-dagger)).

Shapes: A (k, p) the stored rows and the new ones, b (k, r) their targets, J (q, p) new rows, w (p, r).
"""

import numpy as np

from orfit_bench.kernels.fleets import make_fleet_learn
from orfit_bench.kernels.guards import is_finite
from orfit_bench.kernels.linalg import regularized_inverse
from orfit_bench.kernels.loops import Array, make_learn
from orfit_bench.spec.kernel import Params, State


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """One step on the last rows, these included."""
    q, n = len(J), int(s.count[0])
    b_new = E + J @ s.w  # of a model, the targets of the linearised rows, which stay when w changes
    keep = min(n, len(s.rows) - q)  # s.rows has room for projection_order rows, or for all
    A = np.concatenate([s.rows[n - keep : n], J])
    b = np.concatenate([s.targets[n - keep : n], b_new])
    w = s.w + p.step_size[0] * (regularized_inverse(A, p.eps) @ (b - A @ s.w))  # w + step A'(A A' + eps I)^+ (b - A w)
    if not is_finite(w):
        return False
    s.w[...] = w
    s.rows[: keep + q], s.targets[: keep + q] = A, b
    s.count[0] = keep + q
    return True


COMPLEX = True
learn = make_learn(update)
fleet_learn = make_fleet_learn(learn)
