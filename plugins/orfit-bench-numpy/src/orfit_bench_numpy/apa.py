"""Affine projection (survey, APA; with all rows APA-dagger)."""

from typing import Any

import numpy as np

from orfit_bench_numpy._algebra import Array, by_rows, damped_inverse, finite


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """w <- w + step A'(A A' + eps I)^+ (b - A w), A the last rows, this one included."""
    q, n = len(J), int(s.count[0])
    b_new = E + J @ s.w  # the targets of the linearised rows, wherever w goes
    keep = min(n, len(s.rows) - q)  # the host gives room for projection_order rows, or for all
    A = np.concatenate([s.rows[n - keep : n], J])  # (k, p)
    b = np.concatenate([s.targets[n - keep : n], b_new])  # (k, r)
    w = s.w + p.step_size[0] * (damped_inverse(A, p.eps) @ (b - A @ s.w))
    if not finite(w):
        return False
    s.w[...] = w
    s.rows[: keep + q], s.targets[: keep + q] = A, b
    s.count[0] = keep + q
    return True


learn = by_rows(update)
