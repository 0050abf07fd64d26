"""ORFit (thesis, Algorithms 1 to 4, corrected): fit the new rows where it disturbs the remembered ones least."""

from typing import Any

import numpy as np

from orfit_bench_numpy._algebra import Array, append, by_block, by_rows, finite, fitted, new_directions

RENEWAL = 97
"""Steps between renewals of a rotated basis: a prime, so that in no periodic stream all of them change nothing."""


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """w <- w + J~ (J'J~)^-1 E with J~ = J - U U'J (eq. 3.10); then the memory takes in J."""
    U = s.basis[: s.count[0]].T  # (p, n)
    Q, R = new_directions(U, J.T)  # J~ = Q R
    if not R.size:
        return True  # every gradient is dependent
    w = s.w + Q @ fitted(R, J.T, E)
    if not finite(w):
        return False
    s.w[...] = w
    if not hasattr(s, "singular_values"):
        append(s, Q)  # Algorithms 1 and 3: no limit
    else:
        remember(s, *SUMMARIES[p.summary](U, s.singular_values[: s.count[0]], Q, R, J, p))
    return True


def ipca(U: Array, sigma: Array, Q: Array, R: Array, J: Array, p: Any) -> tuple[Array, Array]:
    """Algorithms 2 and 4: the SVD of [U Q] [[Sigma, U'J], [0, Q'J]], eq. 3.4."""
    n, a, q = len(sigma), *R.shape
    M = np.zeros((n + a, n + q), U.dtype)
    M[:n, :n] = np.diag(sigma)
    M[:n, n:] = U.T @ J.T
    M[n:, n:] = R
    V, values, _ = np.linalg.svd(M, full_matrices=False)
    rank = n + a  # the columns of [U Q]; no more of the values can be nonzero
    m = min(rank, p.memory)
    U = np.column_stack([U, Q]) @ V[:, :m]
    return renewed(U) if p.t % RENEWAL == 0 else U, values[:m]


def renewed(U: Array) -> Array:
    """The orthonormal columns nearby: every rotation takes some of their orthonormality away."""
    Q, R = np.linalg.qr(U)
    signed: Array = Q * np.copysign(1, np.diagonal(R))
    return signed


def largest(U: Array, sigma: Array, Q: Array, R: Array, J: Array, p: Any) -> tuple[Array, Array]:
    """The conference paper's memory: the residual directions of largest norm."""
    V, rho, _ = np.linalg.svd(R, full_matrices=False)
    values = np.concatenate([sigma, rho])
    order = np.argsort(-values, kind="stable")[: p.memory]
    return np.column_stack([U, Q @ V])[:, order], values[order]


def latest(U: Array, sigma: Array, Q: Array, R: Array, J: Array, p: Any) -> tuple[Array, Array]:
    """The directions that came last (thesis, section 5.1)."""
    directions, values = np.column_stack([U, Q]), np.concatenate([sigma, np.linalg.norm(R, axis=1)])
    return directions[:, -p.memory :], values[-p.memory :]


def random(U: Array, sigma: Array, Q: Array, R: Array, J: Array, p: Any) -> tuple[Array, Array]:
    """Directions drawn without replacement by the host's uniform numbers (thesis, section 5.1)."""
    directions, values = np.column_stack([U, Q]), np.concatenate([sigma, np.linalg.norm(R, axis=1)])
    kept = list(range(len(values)))
    for u in p.draws[0][: max(0, len(values) - p.memory)]:
        del kept[int(u * len(kept))]
    return directions[:, kept], values[kept]


SUMMARIES = {"ipca": ipca, "largest": largest, "latest": latest, "random": random}


def remember(s: Any, U: Array, sigma: Array) -> None:
    """Replace the memory."""
    s.count[0] = len(sigma)
    s.basis[: len(sigma)], s.singular_values[: len(sigma)] = U.T, sigma


learn = by_rows(update)
step = by_block(update)
