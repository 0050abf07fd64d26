"""Orthogonal gradient descent, declared in `orfit_bench/catalogue/methods/ogd.py` (thesis, eq. 2.4; survey, (OGD)).

Shapes: J (q, p) gradients, E (q, r) errors, w (p, r), U (p, n), Q (p, a), R (a, q).
"""

from orfit_bench.kernels.guards import is_finite
from orfit_bench.kernels.loops import Array, make_learn, make_step
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numpy._gram_schmidt import append_directions, new_directions


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """Take one gradient step, projected off the span of the stored gradients."""
    Q, R = new_directions(s.basis[: s.count[0]].T, J.T)  # thesis, eq. (2.4): J' - U U'J' = Q R
    w = s.w + p.step_size[0] * (Q @ (R @ E))  # survey, (OGD): w + step (I - U U') J'E
    if not is_finite(w):
        return False
    s.w[...] = w
    return True


def store(s: State, J: Array, p: Params) -> None:
    """U <- [U r/|r|], where r is the residual of the gradient after the step."""
    Q, _ = new_directions(s.basis[: s.count[0]].T, J.T)
    append_directions(s, Q)


def update_and_store(s: State, J: Array, E: Array, p: Params) -> bool:
    """Update and store for a linear model, whose gradient does not depend on w."""
    if not update(s, J, E, p):
        return False
    store(s, J, p)
    return True


learn = make_learn(update_and_store)
step = make_step(update_and_store)
