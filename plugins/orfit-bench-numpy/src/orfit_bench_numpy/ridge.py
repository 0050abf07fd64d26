"""Ridge regression in information form, declared in `orfit_bench/catalogue/methods/ridge.py` (survey, eq. 10).

Shapes: L (p, p) lower triangle of the information, m (p, r) moment, w (p, r), X (n, p), Y (n, r), W (n,) weights.
"""

from __future__ import annotations

import math

import numpy as np

from orfit_bench.kernels.fleets import make_batched_rounds, make_fleet_learn
from orfit_bench.kernels.guards import is_finite
from orfit_bench.kernels.information import (
    add_many_rows,
    add_products,
    forgetting_weights,
    solve_normal_equations,
    sums_stay_finite,
)
from orfit_bench.kernels.loops import Array
from orfit_bench.kernels.member_equations import solve_members
from orfit_bench.spec.kernel_arguments import FleetParams, Params, State

CHECKS_ROWS = True
COMPLEX = True
MIN_ROWS_PER_FEATURE = 4
"""With at least this many rows per feature, copying L costs less than checking the rows."""


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """Add the products of all rows in one operation, or row by row if a sum could overflow."""
    L, m, ff = s.information, s.moment, p.forgetting_factor
    if out is None and ff == 1 and len(X) >= MIN_ROWS_PER_FEATURE * len(L) and add_many_rows(L, m, X, Y):
        return len(X)
    energy = float(np.vdot(X, X).real)
    if not math.isfinite(energy) and not np.isfinite(X).all():
        return -1
    if out is not None:
        predict_and_add(L.copy(), m.copy(), X, Y, ff, p.t, out)
    if sums_stay_finite(L, m, energy, Y):
        add(L, m, X, Y, *forgetting_weights(ff, p.t, len(X)))
        return len(X)
    return learn_rows(L, m, X, Y, ff, p.t)


def learn_rows(L: Array, m: Array, X: Array, Y: Array, ff: float, t: int) -> int:
    """Add the rows before the first one that would cause an overflow; return their number."""
    sums = L.copy(), m.copy()
    n = next((i for i in range(len(X)) if not add_step(*sums, X[i : i + 1], Y[i : i + 1], ff, t + i)), len(X))
    if sums_stay_finite(L, m, float(np.vdot(X[:n], X[:n]).real), Y[:n]):  # the same sums as for a chunk that ends here
        add(L, m, X[:n], Y[:n], *forgetting_weights(ff, t, n))
    else:
        L[...], m[...] = sums
    return n


def predict_and_add(L: Array, m: Array, X: Array, Y: Array, ff: float, t: int, out: Array) -> None:
    """Predict each row with the weights of the rows before it, then add it to L and m."""
    for i in range(len(X)):
        out[i] = X[i] @ solve_normal_equations(L, m)[0]
        if not add_step(L, m, X[i : i + 1], Y[i : i + 1], ff, t + i):
            return


def step(s: State, A: Array, Y: Array, p: Params) -> bool:
    """Add the products of all rows as one step."""
    return add_step(s.information, s.moment, A, Y, p.forgetting_factor, p.t)


def add_step(L: Array, m: Array, A: Array, Y: Array, ff: float, t: int) -> bool:
    """L <- ff L + A'A,  m <- ff m + A'Y in step t. If a number would overflow, change nothing and return False.

    For ff > 1, L and m are stored divided by ff^t, so that the terms of old rows do not grow: kept = 1 and weight =
    ff^-t. Otherwise kept = ff and weight = 1.
    """
    kept, (weight,) = forgetting_weights(ff, t, 1)
    weight = np.finfo(A.dtype).dtype.type(weight)  # float64 would hide an overflow in float32
    squares = (A * A.conj()).real.sum(axis=0)  # (p,): the diagonal of A'A
    diagonal = kept * np.diagonal(L).real + weight * squares  # every |L_ij| is at most the largest L_ii
    if not (is_finite(diagonal) and is_finite(kept * m + weight * (A.conj().T @ Y))):
        return False
    add(L, m, A, Y, kept, np.full(len(A), weight))
    return True


def add(L: Array, m: Array, X: Array, Y: Array, kept: float, W: Array) -> None:
    """L <- kept L + X'WX,  m <- kept m + X'WY (survey, Remark 4)."""
    if (W != 1).any():
        root = np.sqrt(W).astype(X.dtype)[:, None]
        X, Y = root * X, root * Y
    add_products(L, X, kept)
    m[...] = kept * m + X.conj().T @ Y


def solve(s: State) -> tuple[Array, float]:
    """Solve L w = m (thesis, eq. 2.2); return w and the precision of L."""
    return solve_normal_equations(s.information, s.moment)


def fleet_solve(s: State) -> tuple[Array, Array]:
    """`solve` for each of m learners: s.information (m, p, p), s.moment (m, p, r)."""
    return solve_members(s.information, s.moment)


def step_members(s: State, x: Array, y: Array, p: FleetParams, j: Array, row: Array, out: Array | None) -> Array:
    """Learn one row of each of m members, as in `add_step`: x (m, p) rows, y (m, r), s.information (m, p, p).

    See `orfit_bench.kernels.fleets.Step` for j and row.
    """
    ff, t = p.forgetting_factor[j], p.t[j] + (row - p.starts[j])
    weight = np.where(ff > 1, ff ** -t.astype(float), 1).astype(x.dtype)[:, None]
    kept = np.minimum(ff, 1).astype(x.dtype)[:, None, None]
    L = kept * s.information + np.tril(x[:, :, None] * (weight * x)[:, None, :])  # kept L + weight x x'
    m = kept * s.moment + x[:, :, None] * (weight * y)[:, None, :]  # kept m + weight x y'
    applied: Array = np.isfinite(np.diagonal(L, axis1=1, axis2=2)).all(axis=1) & np.isfinite(m).all(axis=(1, 2))
    np.copyto(s.information, L, where=applied[:, None, None])
    np.copyto(s.moment, m, where=applied[:, None, None])
    return applied


learn_batched, learn_one_by_one = make_batched_rounds(step_members), make_fleet_learn(learn)


def fleet_learn(s: State, X: Array, Y: Array, p: FleetParams, out: Array | None) -> Array:
    """Learn all members at once; or in a loop if predictions are needed, since each of them needs a factorization."""
    return (learn_batched if out is None else learn_one_by_one)(s, X, Y, p, out)
