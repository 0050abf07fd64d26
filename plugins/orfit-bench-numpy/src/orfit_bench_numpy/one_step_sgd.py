"""One-step SGD, declared in `orfit_bench/catalogue/methods/one_step_sgd.py`.

Thesis, section 5.1: ORFit with an empty memory, the step size of eq. (3.2).

Shapes: J (q, p) gradients, E (q, r) errors, w (p, r).
"""

import numpy as np

from orfit_bench.kernels.guards import is_finite, is_normal
from orfit_bench.kernels.loops import Array, make_learn
from orfit_bench.spec.kernel import Params, State


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """One step that fits the rows: w + J^+ E."""
    if len(J) == 1 and is_normal(norm2 := np.vdot(J, J)):
        w = s.w + J.T @ (E / norm2)  # thesis, eq. (3.2): w + e x / (x'x) for a row x
    else:  # LAPACK scales what would over- or underflow; a row of zeros teaches nothing
        w = s.w + np.linalg.lstsq(J, E, rcond=None)[0]
    if not is_finite(w):
        return False
    s.w[...] = w
    return True


learn = make_learn(update)
