"""The ideal continual learner, declared in `orfit_bench/catalogue/methods/icl.py` (survey, Prop. 1 and Remark 1).

Shapes: J (q, p) rows, E (q, r) errors, w (p, r), U (p, n), Q (p, a), R (a, q).
"""

from orfit_bench.kernels.guards import is_finite
from orfit_bench.kernels.loops import Array, make_learn, make_step
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numpy._gram_schmidt import append_directions, new_directions, solve_fit


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """Fit the new rows without changing the fit of all earlier rows; P = I - U U'."""
    U = s.basis[: s.count[0]].T
    Q, R = new_directions(U, J.T)  # for a row x: r = P x = Q R, so x'r = r'r = R'R
    if not R.size:
        return True  # every row is dependent
    w = s.w + Q @ solve_fit(R, E)  # survey, eq. (6): w + e r / (r'r)
    if not (is_finite(w) and is_finite(R)):
        return False
    s.w[...] = w
    append_directions(s, Q)  # survey, Remark 1 and eq. (7): U <- [U r/|r|]
    return True


learn = make_learn(update)
step = make_step(update)
