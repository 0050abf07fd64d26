"""Recursive least squares, declared in `orfit_bench/catalogue/methods/rls.py`.

Sources: thesis, eq. (2.3); survey, eq. (11) and (12); least-squares notes, the update by several rows; slides,
"Recursive LS (regularized)". P is Phi_t / beta^t in the survey, which stays finite when beta^t underflows.

Shapes: J (q, p) rows, E (q, r) errors, w (p, r), P (p, p).
"""

import numpy as np

from orfit_bench.kernels.fleets import diagonals, make_batched_learn, make_fleet_learn, measure_innovations
from orfit_bench.kernels.guards import (
    MAX_GROWING_ERROR,
    factor_covariance,
    forgetting_limits,
    is_finite,
    keeps_variances_finite,
    solve_lower,
)
from orfit_bench.kernels.loops import Array, make_learn
from orfit_bench.spec.kernel_arguments import FleetParams, Params, State
from orfit_bench_numpy._gram_schmidt import append_directions, new_directions, solve_fit
from orfit_bench_numpy._information_root import start_root, update_root
from orfit_bench_numpy._safe_rows import learn_safe_rows


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """Take one step; for a single row x, J is x', E is e and S is s in the declaration."""
    if p.forgetting_factor == 0:
        return interpolate(s, J, E)
    if hasattr(s, "root"):
        return update_root(s, J, E, p) if p.ridge or p.t > 1 else start_root(s, J, E)
    if p.ridge == 0 and p.t == 1:
        return start_without_prior(s, J, E)
    P, ff = s.P, p.forgetting_factor
    R, limits = ff * np.eye(len(J), dtype=P.dtype), forgetting_limits(ff, P.dtype)  # R: the noise of a filter
    S = J @ (U := P @ J.conj().T) + R  # (q, q): S = ff I + J P J^H
    factor = factor_covariance(np.diagonal(P), J, S, R, limits)
    if factor is None:
        return False
    V = solve_lower(factor.L, U.conj().T)  # (q, p): V = L^-1 J P for S = L L^H
    w = s.w + V.conj().T @ solve_lower(factor.L, E)  # survey, eq. (11): w + P J' S^-1 E
    if not (is_finite(w) and keeps_variances_finite(P, V, limits)):
        return False
    s.w[...] = w
    # survey, eq. (12): P - P J' S^-1 J P, exactly symmetric
    P -= hermitian_square(V) if np.iscomplexobj(V) else V.T @ V
    if ff != 1:
        P /= ff
    if factor.degraded:
        s.precision_lost[...] = 1
    return True


def start_without_prior(s: State, J: Array, E: Array) -> bool:
    """Start with the solution for the first rows and P = (J'J)^-1 (least-squares notes, initialization)."""
    V, sigma, Wt = np.linalg.svd(J, full_matrices=False)  # J = V diag(sigma) Wt
    w = s.w + Wt.conj().T @ ((V.conj().T @ E) / sigma[:, None])  # w + J^+ E
    half = Wt / sigma[:, None]
    P = hermitian_square(half) if np.iscomplexobj(half) else half.T @ half
    if not is_finite(w) or not is_finite(P):
        return False
    s.w[...], s.P[...] = w, P
    return True


def interpolate(s: State, J: Array, E: Array) -> bool:
    """Take one step in the limit ff -> 0, where P projects off the span of all earlier rows (thesis, Proposition 2).

    A basis of that span is stored instead of P.
    """
    Q, R = new_directions(s.basis[: s.count[0]].T, J.conj().T)  # P J' = Q R
    if not R.size:
        return True
    w = s.w + Q @ solve_fit(R, E)  # w + P J' (J P J')^-1 E, where J P J' = R'R
    if not (is_finite(w) and is_finite(R)):
        return False
    s.w[...] = w
    append_directions(s, Q)
    return True


def hermitian_square(V: Array) -> Array:
    """V^H V (p, p) for a complex V, exactly Hermitian, just as V'V is exactly symmetric for a real V."""
    G: Array = V.conj().T @ V
    H: Array = (G + G.conj().T) / 2
    return H


def learn_rows(s: State, X: Array, y: Array, p: Params, out: Array | None) -> int:
    """Learn rows with one output by the formulas for single rows, as long as P keeps its digits; return how many."""
    if not hasattr(s, "P") or np.iscomplexobj(X) or (p.ridge == 0 and p.t == 1):
        return 0
    noise = np.full_like(y, p.forgetting_factor)
    return learn_safe_rows(s.P, s.w[:, 0], X, y, noise, p.forgetting_factor, out)


COMPLEX = True
learn = make_learn(update, learn_rows)


def step(s: State, A: Array, Y: Array, p: Params) -> bool:
    """Learn all rows of A in one step; a single row gives the same bits as in a chunk."""
    return learn(s, A, Y, p, None) == 1 if len(A) == 1 else update(s, A, Y - A @ s.w, p)


def step_members(s: State, x: Array, e: Array, p: FleetParams, j: Array, row: Array) -> Array:
    """Learn one row of each of m members, as in `update`: x (m, p) rows, e (m, r) errors, s.w (m, p, r), s.P (m, p, p).

    See `orfit_bench.kernels.fleets.Step` for j and row. In the code,
    `deviation` (m,) is the square root of S = ff + x'P x, and V (m, p) is P x / sqrt(S).
    """
    ff = p.forgetting_factor[j].astype(x.dtype)
    max_error = np.where(ff < 1, MAX_GROWING_ERROR, 1)
    V, deviation, applied, degraded = measure_innovations(
        s.P, x, noise=ff, left=ff, variances=diagonals(s.P), max_rounding=max_error, max_cancellation=max_error
    )
    w = s.w + V[:, :, None] * (e / deviation[:, None])[:, None, :]  # survey, eq. (11): w + P x e / S
    largest = (np.diagonal(s.P, axis1=1, axis2=2) - V * V).max(axis=1) / ff
    applied &= np.isfinite(w).all(axis=(1, 2)) & (largest < np.finfo(x.dtype).max / 4)
    P = s.P - V[:, :, None] * V[:, None, :]  # survey, eq. (12): P - P x x'P / S
    np.copyto(s.w, w, where=applied[:, None, None])
    np.copyto(s.P, P / ff[:, None, None], where=applied[:, None, None])
    s.precision_lost[applied & degraded] = 1
    return applied


learn_batched, learn_one_by_one = make_batched_learn(step_members), make_fleet_learn(learn)


def fleet_learn(s: State, X: Array, Y: Array, p: FleetParams, out: Array | None) -> Array:
    """Learn all members at once; or in a loop if they store no P (forgetting_factor=0 or a square root)."""
    return (learn_batched if hasattr(s, "P") else learn_one_by_one)(s, X, Y, p, out)
