"""One-step SGD, declared in `orfit_bench/catalogue/methods/one_step_sgd.py`.

Thesis, section 5.1: ORFit with an empty memory, the step size of eq. (3.2).

Shapes: J (q, p) gradients, E (q, r) errors, w (p, r).
"""

from orfit_bench.kernels.guards import is_finite, normal_range
from orfit_bench.kernels.loops import Array, keep_finite, make_learn
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numpy._normalized_step import normalized_step
from orfit_bench_numpy._products import least_squares


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """Take one step that fits the rows: w + J^+ E."""
    # thesis, eq. (3.2): w + e x / (x'x) for a row x
    w = s.w + (normalized_step(J, E, 1.0, 0.0) if len(J) == 1 else least_squares(J, E, None))
    if not is_finite(w):
        return False
    s.w[...] = w
    return True


@keep_finite
def learn_rows(w: Array, X: Array, y: Array, p: Params, out: Array | None) -> int:
    """Steps for one output, row by row: w (d,), x (d,).

    Stops before a row for which a square or a quotient would over- or underflow; returns the number of rows learned.
    """
    smallest, _ = normal_range(w.dtype)
    for i, x in enumerate(X):
        f, norm2 = x.dot(w), x.dot(x)
        e = y[i] - f
        gain = e / norm2
        if not (smallest < norm2 and (smallest < abs(gain) or e == 0)):  # an infinite square has the gain 0
            return i
        if out is not None:
            out[i] = f
        w += gain * x  # thesis, eq. (3.2): w + e x / (x'x)
    return len(X)


learn = make_learn(update, learn_rows)
