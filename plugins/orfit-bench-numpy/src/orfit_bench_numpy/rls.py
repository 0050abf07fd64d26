"""Recursive least squares (thesis, eq. 2.3; least-squares notes, block update; survey, RLS-(beta, lambda)).

In the normalised form P = Phi_t beta^-t, which stays finite where beta^t underflows.
"""

from typing import Any

import numpy as np

from orfit_bench_numpy._algebra import Array, append, by_block, by_rows, finite, fitted, new_directions
from orfit_bench_numpy._covariance import change, overflows, shrink


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """P <- (P - P J'(ff I + J P J')^-1 J P) / ff,  w <- w + P_old J'(ff I + J P_old J')^-1 E."""
    if p.forgetting_factor == 0:
        return interpolate(s, J, E)
    if p.ridge == 0 and p.t == 1:
        return begin(s, J, E)
    P, ff = s.P, p.forgetting_factor
    changed = change(P, J, E, ff * np.eye(len(J), dtype=P.dtype))
    if changed is None:
        return False
    move, V, lost = changed
    w = s.w + move
    if not finite(w) or overflows(P, V, ff):
        return False
    if lost:
        s.precision_lost[...] = 1
    s.w[...] = w
    shrink(P, V, ff)
    return True


def begin(s: Any, J: Array, E: Array) -> bool:
    """No prior: the first block's least-squares solution and P = (J'J)^-1 (least-squares notes, block 0)."""
    V, sigma, Wt = np.linalg.svd(J, full_matrices=False)
    w = s.w + Wt.T @ ((V.T @ E) / sigma[:, None])
    half = Wt / sigma[:, None]
    P = half.T @ half
    if not finite(w) or not finite(P):
        return False
    s.w[...], s.P[...] = w, P
    return True


def interpolate(s: Any, J: Array, E: Array) -> bool:
    """The limit ff -> 0, where P is the projection off all former rows, kept as a basis (thesis, Prop. 2)."""
    Q, R = new_directions(s.basis[: s.count[0]].T, J.T)  # P J' = Q R
    if not R.size:
        return True
    w = s.w + Q @ fitted(R, E)
    if not (finite(w) and finite(R)):
        return False
    s.w[...] = w
    append(s, Q)
    return True


learn = by_rows(update)
step = by_block(update)
