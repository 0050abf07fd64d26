"""ORFit, declared in `orfit_bench/catalogue/methods/orfit.py`.

Thesis, Algorithms 1 to 4, in which Algorithm 2's u and Algorithm 3's column are normalised residuals.

Shapes: J (q, p) gradients, the thesis' J'; E (q, r) errors, w (p, r), U (p, n), Sigma (n,), Q (p, a), R (a, q).
"""

import numpy as np

from orfit_bench.kernels.guards import is_bounded, is_finite
from orfit_bench.kernels.loops import Array, make_learn, make_step
from orfit_bench.spec.kernel import Params, State
from orfit_bench_numpy._gram_schmidt import append_directions, new_directions, solve_fit
from orfit_bench_numpy._incremental_svd import Extended, leading_singular_vectors


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """Fit the new rows where that changes predictions for the remembered ones least; then update the memory."""
    U = s.basis[: s.count[0]].T
    Q, R = new_directions(U, J.T)  # Algorithm 4, lines 5 and 10: J~ = J - U U'J = Q R
    if not R.size:
        return True  # every gradient is dependent
    w = s.w + Q @ solve_fit(R, E)  # eq. (3.10): w + J~ (J'J~)^-1 E, where J'J~ = R'R
    if not (is_finite(w) and is_bounded(J)):
        return False
    if not hasattr(s, "singular_values"):
        append_directions(s, Q)  # Algorithms 1 and 3: no limit
    elif not replace_memory(s, *SUMMARIES[p.summary](Extended(U, s.singular_values[: s.count[0]], Q, R, J.T), p)):
        return False
    s.w[...] = w
    return True


def summarize_by_svd(memory: Extended, p: Params) -> tuple[Array, Array]:
    """Algorithms 2 and 4: the leading singular vectors and values of [U Sigma, J]."""
    return leading_singular_vectors(memory, p.memory, p.t)


def keep_largest(memory: Extended, p: Params) -> tuple[Array, Array]:
    """The conference paper's memory: the residual directions of largest norm."""
    V, rho, _ = np.linalg.svd(memory.R, full_matrices=False)
    values = np.concatenate([memory.sigma, rho])
    order = np.argsort(-values, kind="stable")[: p.memory]
    return np.column_stack([memory.U, memory.Q @ V])[:, order], values[order]


def keep_latest(memory: Extended, p: Params) -> tuple[Array, Array]:
    """The latest directions (thesis, section 5.1)."""
    directions, values = all_directions(memory)
    return directions[:, -p.memory :], values[-p.memory :]


def keep_random(memory: Extended, p: Params) -> tuple[Array, Array]:
    """Directions drawn without replacement by the uniform numbers in p.draws (thesis, section 5.1)."""
    directions, values = all_directions(memory)
    kept = list(range(len(values)))
    for u in p.draws[0][: max(0, len(values) - p.memory)]:
        del kept[int(u * len(kept))]
    return directions[:, kept], values[kept]


SUMMARIES = {"ipca": summarize_by_svd, "largest": keep_largest, "latest": keep_latest, "random": keep_random}


def all_directions(memory: Extended) -> tuple[Array, Array]:
    """The stored and new directions (p, n + a), with the norms of the latter's rows of R as values (n + a,)."""
    return np.column_stack([memory.U, memory.Q]), np.concatenate([memory.sigma, row_norms(memory.R)])


def row_norms(R: Array) -> Array:
    """The norms of the rows of R (a, q), none of them zero, without a square that over- or underflows."""
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
