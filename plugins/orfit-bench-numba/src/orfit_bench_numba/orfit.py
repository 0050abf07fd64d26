"""ORFit (thesis, Algorithms 1 to 4, corrected): fit the new rows where it disturbs the remembered ones least."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench_numba._basis import append, fit_rows, fitted
from orfit_bench_numba._directions import Array, in_blocks, new_directions
from orfit_bench_numba._joint import rotate
from orfit_bench_numba._memory import RENEWAL, SUMMARIES, bounded, remember_block, renew
from orfit_bench_numba._threads import blas_for


def learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
    """w <- w + x~ (x'x~)^-1 e with x~ = x - U U'x (eq. 3.10); then the memory takes in x."""
    if p.batch_size > 1:
        with blas_for(8.0 * len(s.basis) * X.size):
            return _learn_batches(s, X, Y, p, out)
    if not hasattr(s, "singular_values"):
        return fit_rows(s, X, Y, out, bounded=True)
    told = np.empty(Y.shape, Y.dtype) if out is None else out
    drawn = p.draws[:, 0] * (p.memory + 1) if p.draws.size else np.zeros(len(X))
    drawn = drawn.astype(np.int64).astype(X.dtype)

    def learn_block(part: slice) -> int:
        how = p.memory, SUMMARIES[p.summary], drawn[part], p.t + part.start - 1
        return remember_block(s, X[part], Y[part], told[part], *how)

    return in_blocks(learn_block, X, Y, len(s.basis))


def _learn_batches(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
    b = p.batch_size
    for i in range(0, len(X), b):
        A, here = X[i : i + b], p if len(X) == b else p.at(i // b)
        f = A @ s.w
        if out is not None:
            out[i : i + b] = f
        if not update(s, A, Y[i : i + b] - f, here):
            return i
    return len(X)


def step(s: Any, A: Array, Y: Array, p: Any) -> bool:
    """The rows of A as one block."""
    return update(s, A, Y - A @ s.w, p)


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """w <- w + J~ (J'J~)^-1 E with J~ = J - U U'J; then the memory takes in J."""
    n = int(s.count[0])
    U = s.basis[:n]
    Q, R = new_directions(U, J)
    if not len(Q):
        return True
    w = s.w + Q.T @ fitted(R, E)
    if not (np.isfinite(w).all() and bounded(J)):
        return False
    if hasattr(s, "singular_values"):
        V, sigma = summarised(U, s.singular_values[:n], R, J, p)
        if not np.isfinite(sigma).all():
            return False
        m = len(sigma)
        rotate(s.basis[:m], V[:n].T, U, V[n:].T, Q)
        s.singular_values[:m], s.count[0] = sigma, m
        if p.t % RENEWAL == 0:
            renew(s.basis[:m])
    else:
        append(s, Q)
    s.w[...] = w
    return True


def summarised(U: Array, sigma: Array, R: Array, J: Array, p: Any) -> tuple[Array, Array]:
    """What the memory keeps: directions V (n + a, m) in the coordinates of the rows of U and Q, and their values."""
    n, (a, q) = len(U), R.shape
    if p.summary == "ipca":  # the leading singular vectors of [U Sigma, J'] (eq. 3.4)
        M = np.zeros((n + a, n + q), R.dtype)
        M[:n, :n], M[:n, n:], M[n:, n:] = np.diag(sigma), U @ J.T, R
        V, values, _ = np.linalg.svd(M, full_matrices=False)
        return V[:, : p.memory], values[: p.memory]
    V, kept = np.eye(n + a, dtype=R.dtype), np.arange(n + a)
    if p.summary == "largest":
        turned, rho, _ = np.linalg.svd(R, full_matrices=False)
        V[n:, n:] = turned
        values = np.concatenate([sigma, rho])
        kept = np.argsort(-values, kind="stable")[: p.memory]
        return V[:, kept], values[kept]
    size = np.abs(R).max(axis=1)  # so that no square over- or underflows
    values = np.concatenate([sigma, size * np.linalg.norm(R / size[:, None], axis=1)])
    if p.summary == "latest":
        kept = kept[-p.memory :]
    else:
        for u in p.draws[0][: max(0, n + a - p.memory)]:
            kept = np.delete(kept, int(u * len(kept)))
    return V[:, kept], values[kept]
