"""Affine projection (survey, APA; with all rows APA-dagger).

Rows are learned one after another by `_sliding_apa`. It squares the rows, which loses digits, so a window of nearly
dependent rows is solved by an SVD. Writes w and the window.
"""

from typing import Any

import numpy as np

from orfit_bench.kernels.linalg import regularized_inverse
from orfit_bench_numba._arrays import Array
from orfit_bench_numba._sliding_apa import learn_rows

RENEWAL_PERIOD = 256
"""Rows after which T is recomputed, since every update adds a rounding error."""


def learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
    """Each row: w <- w + step A'(A A' + eps I)^+ (b - A w), A the last rows, this one included."""
    done, predictions = 0, np.empty(Y.shape, Y.dtype) if out is None else out
    while done < len(X):
        part = slice(done, min(done + RENEWAL_PERIOD, len(X)))
        done += learn_block(s, X[part], Y[part], p.step_size[part], p, predictions[part])
        if done < part.stop:
            A = X[done : done + 1]
            predictions[done] = A[0] @ s.w
            if not update(s, A, Y[done : done + 1] - predictions[done], p.at(done)):
                return done
            done += 1
    return done


def learn_block(s: Any, X: Array, Y: Array, step: Array, p: Any, predictions: Array) -> int:
    """Learn the first rows of X; returns how many: none if the rows of the window nearly depend on each other."""
    n, max_size = int(s.count[0]), 2.0 ** (np.finfo(X.dtype).maxexp // 4)
    k = min(n, p.projection_order - 1)
    if k >= X.shape[1] or not max(s.w.max(), -s.w.min()) < max_size**3:
        return 0
    W, old, order = np.ascontiguousarray(s.w.T), slice(n - k, n), min(p.projection_order, k + len(X))
    learned = int(learn_rows(W, (s.rows[old], s.targets[old]), X, Y, step, predictions, order, p.eps, max_size))
    s.w[...] = W.T
    append_to_window(s, X[:learned], Y[:learned])
    return learned


def append_to_window(s: Any, X: Array, Y: Array) -> None:
    """Append rows to the window; the oldest leave a full one."""
    n, size = int(s.count[0]), len(s.rows)
    X, Y = X[-size:], Y[-size:]
    keep = min(n, size - len(X))
    for window, new in ((s.rows, X), (s.targets, Y)):
        if keep < n:
            window[:keep] = window[n - keep : n]
        window[keep : keep + len(new)] = new
    s.count[0] = keep + len(X)


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """The same step for q gradients at once, by the SVD of the window."""
    q, n = len(J), int(s.count[0])
    b_new = E + J @ s.w
    keep = min(n, len(s.rows) - q)
    A, b = np.concatenate([s.rows[n - keep : n], J]), np.concatenate([s.targets[n - keep : n], b_new])
    w = s.w + p.step_size[0] * (regularized_inverse(A, p.eps) @ (b - A @ s.w))
    if not np.isfinite(w).all():
        return False
    s.w[...] = w
    append_to_window(s, J, b_new)
    return True
