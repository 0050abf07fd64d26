"""ORFit (thesis, Algorithms 1 to 4, corrected): fit new rows with the least change of remembered predictions."""

from __future__ import annotations

import numpy as np

from orfit_bench.kernels.guards import is_bounded, is_finite
from orfit_bench.kernels.limited_memory import errors_of_step, keep_errors, kept_positions, order_by_size
from orfit_bench.kernels.linalg import ORTHONORMALIZATION_PERIOD
from orfit_bench.kernels.loops import make_step
from orfit_bench.kernels.threads import limit_blas_threads
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numba._arrays import LONGEST, Array, BoundRow
from orfit_bench_numba._block_gram_schmidt import BLOCK, learn_in_blocks, new_directions
from orfit_bench_numba._coordinate_rows import SUMMARIES
from orfit_bench_numba._few_coordinates import MAX_FEATURES, MAX_FEATURES_OF_ONE, learn_few_features
from orfit_bench_numba._finite import NOT_FINITE
from orfit_bench_numba._network_gradients import by_gradients
from orfit_bench_numba._projection import append_directions, fit_rows, solve_fit
from orfit_bench_numba._projection import bind_row as bind_fitted_row
from orfit_bench_numba._strip_products import combine
from orfit_bench_numba._truncated_basis import learn_block, reorthonormalize

CHECKS_ROWS = True
MORE_ROWS = 22
"""With a memory of m directions, a block has up to m + 22 rows.

With more rows, their products with each other take longer than it saves to change the memory less often.
"""


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """w <- w + x~ (x'x~)^-1 e with x~ = x - U U'x (eq. 3.10); then add x to the memory."""
    if p.batch_size > 1:
        with limit_blas_threads(8.0 * len(s.basis) * X.size):
            return _learn_batches(s, X, Y, p, out)
    d, limited = X.shape[1], hasattr(s, "singular_values")
    most = min(BLOCK, p.memory + MORE_ROWS) if limited and d > MAX_FEATURES else BLOCK
    checked = len(X) > most or not limited  # a single block is checked by its products, without another pass over it
    if checked and not (is_finite(X) and is_finite(Y)):
        return NOT_FINITE
    if not limited:
        return fit_rows(s, X, Y, out, bounded=True)
    predictions = np.empty(Y.shape, Y.dtype) if out is None else out
    drawn = p.draws[:, 0] * (p.memory + 1) if p.draws.size else np.zeros(len(X))
    drawn = drawn.astype(np.int64).astype(X.dtype)

    def learn_part(part: slice) -> int:
        how = min(p.memory, LONGEST), SUMMARIES[p.summary], drawn[part], p.t + part.start - 1
        few = d <= MAX_FEATURES or (part.stop - part.start == 1 and d <= MAX_FEATURES_OF_ONE)
        learn_rows = learn_few_features if few else learn_block
        return learn_rows(s, X[part], Y[part], predictions[part], *how, checked or part.start > 0)

    return learn_in_blocks(learn_part, X, len(s.basis), most)


def bind_row(s: State, p: Params) -> BoundRow | None:
    """A function that learns one row with one output; None with a limited memory, which changes completely."""
    return None if hasattr(s, "singular_values") else bind_fitted_row(s, None, bounded=True)


def _learn_batches(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    b = p.batch_size
    for i in range(0, len(X), b):
        A, here = X[i : i + b], p if len(X) == b else p.at(i // b)
        f = A @ s.w
        if out is not None:
            out[i : i + b] = f
        if not update(s, A, Y[i : i + b] - f, here):
            return i
    return len(X)


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """w <- w + J~ (J'J~)^-1 E with J~ = J - U U'J; then add J to the memory."""
    directions = float(s.count[0] + len(J))
    with limit_blas_threads(directions * (8.0 * J.size + 20.0 * directions**2)):
        return _update(s, J, E, p)


def _update(s: State, J: Array, E: Array, p: Params) -> bool:
    n = int(s.count[0])
    U = s.basis[:n]
    Q, R = new_directions(U, J)
    if not len(Q):
        return True
    w = s.w + Q.T @ solve_fit(R, E)
    if not (np.isfinite(w).all() and is_bounded(J)):
        return False
    if hasattr(s, "singular_values"):
        V, sigma = summarize(U, s.singular_values[:n], R, J, p)
        errors = errors_of_step(s, J, R) if hasattr(s, "direction_errors") else None
        if not np.isfinite(sigma).all():
            return False
        m = len(sigma)
        combine(s.basis[:m], Q[:0], np.ascontiguousarray(V.T), U, Q)
        s.singular_values[:m], s.count[0] = sigma, m
        if errors is not None:
            keep_errors(s, errors, kept_positions(len(errors), p))
        if p.t % ORTHONORMALIZATION_PERIOD == 0:
            reorthonormalize(s.basis[:m])
    else:
        append_directions(s, Q)
    s.w[...] = w
    return True


def summarize(U: Array, sigma: Array, R: Array, J: Array, p: Params) -> tuple[Array, Array]:
    """The new memory: directions V (n + a, m) in the coordinates of the rows of U and Q, and their values."""
    n, (a, q) = len(U), R.shape
    if p.summary == "ipca":  # the leading singular vectors of [U Sigma, J'] (eq. 3.4)
        M = np.zeros((n + a, n + q), R.dtype)
        M[:n, :n], M[:n, n:], M[n:, n:] = np.diag(sigma), U @ J.T, R
        V, values, _ = np.linalg.svd(M, full_matrices=False)
        return V[:, : p.memory], values[: p.memory]
    V = np.eye(n + a, dtype=R.dtype)
    if p.summary == "largest":
        turned, rho, _ = np.linalg.svd(R, full_matrices=False)
        V[n:, n:] = turned
        values = np.concatenate([sigma, rho])
        kept = order_by_size(values, n)[: p.memory]
        return V[:, kept], values[kept]
    size = np.abs(R).max(axis=1)  # so that no square over- or underflows
    values = np.concatenate([sigma, size * np.linalg.norm(R / size[:, None], axis=1)])
    kept = kept_positions(n + a, p)
    return V[:, kept], values[kept]


step = make_step(update)
for_network = by_gradients(update)
