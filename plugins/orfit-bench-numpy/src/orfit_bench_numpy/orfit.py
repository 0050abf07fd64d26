"""ORFit (thesis, Algorithms 1 to 4, corrected): fit the new rows where it disturbs the remembered ones least."""

from typing import Any

import numpy as np

from orfit_bench_numpy._algebra import (
    Array,
    append,
    bounded,
    by_block,
    by_rows,
    finite,
    fitted,
    leading,
    new_directions,
    norms,
)


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """w <- w + J~ (J'J~)^-1 E with J~ = J - U U'J (eq. 3.10); then the memory takes in J."""
    U = s.basis[: s.count[0]].T  # (p, n)
    Q, R = new_directions(U, J.T)  # J~ = Q R
    if not R.size:
        return True  # every gradient is dependent
    w = s.w + Q @ fitted(R, E)
    if not (finite(w) and bounded(J)):
        return False
    if not hasattr(s, "singular_values"):
        append(s, Q)  # Algorithms 1 and 3: no limit
    elif not remember(s, *SUMMARIES[p.summary](U, s.singular_values[: s.count[0]], Q, R, J, p)):
        return False
    s.w[...] = w
    return True


def ipca(U: Array, sigma: Array, Q: Array, R: Array, J: Array, p: Any) -> tuple[Array, Array]:
    """Algorithms 2 and 4: the leading singular vectors of [U Sigma, J'] (eq. 3.4)."""
    return leading(U, sigma, Q, R, J.T, p.memory, p.t)


def largest(U: Array, sigma: Array, Q: Array, R: Array, J: Array, p: Any) -> tuple[Array, Array]:
    """The conference paper's memory: the residual directions of largest norm."""
    V, rho, _ = np.linalg.svd(R, full_matrices=False)
    values = np.concatenate([sigma, rho])
    order = np.argsort(-values, kind="stable")[: p.memory]
    return np.column_stack([U, Q @ V])[:, order], values[order]


def latest(U: Array, sigma: Array, Q: Array, R: Array, J: Array, p: Any) -> tuple[Array, Array]:
    """The directions that came last (thesis, section 5.1)."""
    directions, values = np.column_stack([U, Q]), np.concatenate([sigma, norms(R)])
    return directions[:, -p.memory :], values[-p.memory :]


def random(U: Array, sigma: Array, Q: Array, R: Array, J: Array, p: Any) -> tuple[Array, Array]:
    """Directions drawn without replacement by the host's uniform numbers (thesis, section 5.1)."""
    directions, values = np.column_stack([U, Q]), np.concatenate([sigma, norms(R)])
    kept = list(range(len(values)))
    for u in p.draws[0][: max(0, len(values) - p.memory)]:
        del kept[int(u * len(kept))]
    return directions[:, kept], values[kept]


SUMMARIES = {"ipca": ipca, "largest": largest, "latest": latest, "random": random}


def remember(s: Any, U: Array, sigma: Array) -> bool:
    """Replace the memory, unless a value left the finite numbers."""
    if not finite(sigma):
        return False
    s.count[0] = len(sigma)
    s.basis[: len(sigma)], s.singular_values[: len(sigma)] = U.T, sigma
    return True


learn = by_rows(update)
step = by_block(update)
