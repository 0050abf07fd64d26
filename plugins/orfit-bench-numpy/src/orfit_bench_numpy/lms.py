"""LMS, declared in `orfit_bench/catalogue/methods/lms.py` (survey, eq. 2).

Shapes: J (q, p) rows, E (q, r) errors, w (p, r).
"""

from orfit_bench.kernels.fleets import make_batched_learn, move_members
from orfit_bench.kernels.guards import is_finite
from orfit_bench.kernels.loops import Array, keep_finite, make_learn
from orfit_bench.spec.kernel_arguments import FleetParams, Params, State


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """Take one step against the gradient of the squared errors."""
    w = s.w + J.conj().T.dot(p.step_size[0] * E)  # survey, eq. (2): w + step e x for a row x^H
    if not is_finite(w):
        return False
    s.w[...] = w
    return True


@keep_finite
def learn_rows(w: Array, X: Array, y: Array, p: Params, out: Array | None) -> int:
    """LMS steps for one output, row by row: w (d,), x (d,)."""
    for i, x in enumerate(X):
        f = x.dot(w)
        if out is not None:
            out[i] = f
        w += p.step_size[i] * (y[i] - f) * x.conj()  # survey, eq. (2): w + step e x for a row x^H
    return len(X)


COMPLEX = True
learn = make_learn(update, learn_rows)


def step_members(s: State, x: Array, e: Array, p: FleetParams, j: Array, row: Array) -> Array:
    """Learn one row of each of m members: x (m, d) rows, e (m, r) errors, s.w (m, d, r).

    See `orfit_bench.kernels.fleets.Step` for j and row.
    """
    return move_members(s.w, p.step_size[row, None, None] * x[:, :, None] * e[:, None, :])  # w + step e x


fleet_learn = make_batched_learn(step_members)
