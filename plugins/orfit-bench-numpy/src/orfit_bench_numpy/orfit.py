"""ORFit, declared in `orfit_bench/catalogue/methods/orfit.py`.

Thesis, Algorithms 1 to 4, with two corrections: u in Algorithm 2 and the new column in Algorithm 3 are normalized
residuals.

Shapes: J (q, p) gradients, J' in the thesis; E (q, r) errors, w (p, r), U (p, n), Sigma (n,), Q (p, a), R (a, q).
"""

import numpy as np

from orfit_bench.kernels.guards import is_bounded, is_finite
from orfit_bench.kernels.limited_memory import errors_of_step, keep_errors, kept_positions, order_by_size
from orfit_bench.kernels.loops import Array, make_learn, make_step
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numpy._gram_schmidt import append_directions, new_directions, solve_fit
from orfit_bench_numpy._incremental_svd import Extended, leading_singular_vectors


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """Fit the new rows with the step that changes predictions for the remembered rows least; then update the memory."""
    U = s.basis[: s.count[0]].T
    Q, R = new_directions(U, J.T)  # Algorithm 4, lines 5 and 10: J~ = J' - U U'J' = Q R
    if not R.size:
        return True  # every gradient is dependent
    w = s.w + Q @ solve_fit(R, E)  # eq. (3.10): w + J~ (J J~)^-1 E, where J J~ = R'R
    if not (is_finite(w) and is_bounded(J)):
        return False
    # the estimated rounding errors of the directions are not part of Algorithm 4 (docs/decisions/0067)
    errors = errors_of_step(s, J, R) if hasattr(s, "direction_errors") else None
    if not hasattr(s, "singular_values"):
        append_directions(s, Q)  # Algorithms 1 and 3: no limit
    elif not replace_memory(s, *SUMMARIES[p.summary](Extended(U, s.singular_values[: s.count[0]], Q, R, J.T), p)):
        return False
    s.w[...] = w
    if errors is not None:
        keep_errors(s, errors, kept_positions(len(errors), p))
    return True


def summarize_by_svd(memory: Extended, p: Params) -> tuple[Array, Array]:
    """The memory of Algorithms 2 and 4: the leading singular vectors and values of [U Sigma, J']."""
    return leading_singular_vectors(memory, p.memory, p.t)


def keep_largest(memory: Extended, p: Params) -> tuple[Array, Array]:
    """The memory of the conference paper: residual directions with the largest norms; of equal norms the earliest."""
    V, rho, _ = np.linalg.svd(memory.R, full_matrices=False)
    values = np.concatenate([memory.sigma, rho])
    order = order_by_size(values, len(memory.sigma))[: p.memory]
    return np.column_stack([memory.U, memory.Q @ V])[:, order], values[order]


def keep_by_age(memory: Extended, p: Params) -> tuple[Array, Array]:
    """The latest directions, or those left after p.draws removes directions at random (thesis, section 5.1).

    The value of a new direction is the norm of its row of R.
    """
    values = np.concatenate([memory.sigma, row_norms(memory.R)])
    kept = kept_positions(len(values), p)
    return np.column_stack([memory.U, memory.Q])[:, kept], values[kept]


SUMMARIES = {"ipca": summarize_by_svd, "largest": keep_largest, "latest": keep_by_age, "random": keep_by_age}


def row_norms(R: Array) -> Array:
    """The norms of the rows of R (a, q), without over- or underflow of squares; no row may be zero."""
    size = np.abs(R).max(axis=1)
    norms: Array = size * np.linalg.norm(R / size[:, None], axis=1)
    return norms


def replace_memory(s: State, U: Array, sigma: Array) -> bool:
    """Replace the memory, unless a value is not finite."""
    if not is_finite(sigma):
        return False
    s.count[0] = len(sigma)
    s.basis[: len(sigma)], s.singular_values[: len(sigma)] = U.T, sigma
    return True


learn = make_learn(update)
step = make_step(update)
