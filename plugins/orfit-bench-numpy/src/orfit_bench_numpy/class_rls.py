"""RLS for classification, declared in `orfit_bench/catalogue/methods/class_rls.py` (survey, D-RLS, eq. (11), (12)).

w has one column per class, and all classes share one P. Products with w or E are computed column by column: in a matrix
product the rounding of a column depends on the other columns, so the column of a class that appears late would differ
from its column if the class were known from the start.

Shapes: A (q, p) rows, E (q, r) errors of the scores, w (p, r) for r classes, P (p, p).
"""

import numpy as np

from orfit_bench.kernels.fleets import make_batched_learn
from orfit_bench.kernels.guards import (
    factor_covariance,
    forgetting_limits,
    is_finite,
    keeps_variances_finite,
    solve_lower,
)
from orfit_bench.kernels.loops import Array
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numpy._products import multiply_by_columns
from orfit_bench_numpy.rls import step_members


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """Learn row by row; the scores of a row are w'x."""
    for i in range(len(X)):
        A = X[i : i + 1]
        f = multiply_by_columns(A, s.w)
        if out is not None:
            out[i : i + 1] = f
        if not correct(s, A, Y[i : i + 1] - f, p):
            return i
    return len(X)


def step(s: State, A: Array, Y: Array, p: Params) -> bool:
    """Learn all rows of A in one step."""
    return correct(s, A, Y - multiply_by_columns(A, s.w), p)


def correct(s: State, A: Array, E: Array, p: Params) -> bool:
    """Take one step; for a single row x, A is x' and S is s in the declaration."""
    P, ff, identity = s.P, p.forgetting_factor, np.eye(len(A), dtype=s.P.dtype)
    R, limits = ff * identity, forgetting_limits(ff, P.dtype)
    S = A @ (U := P @ A.T) + R  # (q, q): S = ff I + A P A'
    factor = factor_covariance(np.diagonal(P), A, S, R, limits)
    if factor is None:
        return False
    V = solve_lower(factor.L, U.T)  # (q, p): V = L^-1 A P for S = L L'
    K = V.T @ solve_lower(factor.L, identity)  # (p, q): K = P A' S^-1
    w = s.w + multiply_by_columns(K, E)  # survey, eq. (11)
    if not (is_finite(w) and keeps_variances_finite(P, V, limits)):
        return False
    s.w[...] = w
    P -= V.T @ V  # survey, eq. (12): P - K A P, exactly symmetric
    if ff != 1:
        P /= ff
    if factor.degraded:
        s.precision_lost[...] = 1
    return True


fleet_learn = make_batched_learn(step_members)
