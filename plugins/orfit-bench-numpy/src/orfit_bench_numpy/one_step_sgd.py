"""One-step SGD, declared in `orfit_bench/catalogue/methods/one_step_sgd.py`.

Thesis, section 5.1: ORFit with an empty memory, the step size of eq. (3.2).

Shapes: J (q, p) gradients, E (q, r) errors, w (p, r).
"""

import numpy as np

from orfit_bench.kernels.guards import is_finite, is_normal, normal_range
from orfit_bench.kernels.loops import Array, keep_finite, make_learn
from orfit_bench.spec.kernel import Params, State
from orfit_bench_numpy._gram_schmidt import least_squares


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """One step that fits the rows: w + J^+ E."""
    if len(J) == 1 and is_normal(norm2 := np.vdot(J, J)):
        w = s.w + J.T @ (E / norm2)  # thesis, eq. (3.2): w + e x / (x'x) for a row x
    else:  # LAPACK scales what would over- or underflow; a row of zeros teaches nothing
        w = s.w + least_squares(J, E, None)
    if not is_finite(w):
        return False
    s.w[...] = w
    return True


@keep_finite
def learn_rows(w: Array, X: Array, y: Array, p: Params, out: Array | None) -> int:
    """The same for one output, row by row: w (d,), x (d,). Stops where a square over- or underflows."""
    smallest, largest = normal_range(w.dtype)
    for i, x in enumerate(X):
        f, norm2 = x.dot(w), x.dot(x)
        if not smallest < norm2 < largest:
            return i
        if out is not None:
            out[i] = f
        w += (y[i] - f) / norm2 * x  # thesis, eq. (3.2): w + e x / (x'x)
    return len(X)


learn = make_learn(update, learn_rows)
