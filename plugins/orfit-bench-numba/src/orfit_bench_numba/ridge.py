"""Ridge regression in information form (thesis, eq. 2.2; survey, eq. 10): L = X'WX + prior and m = X'WY, w = L^-1 m.

Rows are added by one symmetric product per chunk, which takes d^2 flops per row near the rate of matrix products, or
one after another if there are few rows or a number could overflow. For few features and one output, eight rows at a
time are added by compiled code, unless BLAS is faster. Predictions of every row are computed in blocks, see
`_block_ridge`.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from orfit_bench.kernels.guards import is_finite
from orfit_bench.kernels.information import (
    add_many_rows,
    add_products,
    forgetting_weights,
    solve_normal_equations,
    sums_stay_finite,
)
from orfit_bench.kernels.member_equations import solve_members
from orfit_bench.kernels.threads import limit_blas_threads
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numba._arrays import Array, BoundRow, BoundRows
from orfit_bench_numba._block_ridge import block_size, predict_block
from orfit_bench_numba._finite import NOT_FINITE
from orfit_bench_numba._ridge_fleets import make_ridge_fleet_learn
from orfit_bench_numba._ridge_rows import MAX_FEATURES, add_number, add_numbers, add_rows
from orfit_bench_numpy.ridge import MIN_ROWS_PER_FEATURE, learn_rows

CHECKS_ROWS = True
COMPLEX = True
MIN_ROWS = 8
"""With at least this many rows, one product is faster than a pass over L for each row."""
MANY_ROWS = 1024
"""With more rows, and without forgetting, `add_many_rows` is faster than `add_numbers`."""


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """L <- ff L + x x',  m <- ff m + x y'."""
    ff, t, L = p.forgetting_factor, p.t, s.information
    if out is None and 1 < len(X) <= most_rows(s, p):
        learned = bind_few_features(s, p)(X, Y[:, 0], np.empty(0, X.dtype))
        if learned != NOT_FINITE:
            return learned
    if out is None and ff == 1 and len(X) >= MIN_ROWS_PER_FEATURE * len(L):
        with limit_blas_threads(float(len(X)) * L.size):
            if add_many_rows(L, s.moment, X, Y):
                return len(X)
    energy, done = float(np.vdot(X, X).real), 0
    if not math.isfinite(energy) and not np.isfinite(X).all():
        return NOT_FINITE
    with limit_blas_threads(float(len(X)) * s.information.size):
        if out is None:
            return add(s, X, Y, ff, t, energy)
        size = longest = block_size(len(s.information), ff)
        while done < len(X):
            rows = slice(done, done + size)
            if not predict_block(s.information, s.moment, X[rows], Y[rows], ff, t + done, out[rows]):
                size = (min(size, len(X) - done) + 1) // 2
                continue
            count = len(X[rows])
            learned = add(s, X[rows], Y[rows], ff, t + done, energy)
            done, size = done + learned, min(2 * size, longest)
            if learned < count:
                break
    return done


def bind_row(s: State, p: Params) -> BoundRow | None:
    """A function that learns one row of real numbers with one output; None if ff > 1: weights depend on the step."""
    if p.forgetting_factor > 1 or s.moment.dtype.kind == "c":
        return None
    return partial(add_number.entry_point(s.moment.dtype), s.information, s.moment, float(p.forgetting_factor))


def bind_rows(s: State, p: Params) -> BoundRows | None:
    """A function that learns rows of real numbers with one output, without predictions; None with ff > 1."""
    if not has_constant_weights(s, p):
        return None
    learn_many = partial(learn_numbers, s, p)
    if not (most := most_rows(s, p)):
        return learn_many
    learn_few = bind_few_features(s, p)
    return lambda X, y, out: learn_few(X, y, out) if len(X) <= most else learn_many(X, y, out)


def has_constant_weights(s: State, p: Params) -> bool:
    """Whether rows are real numbers with one output whose weights do not depend on the step, as they do with ff > 1."""
    return bool(s.moment.shape[1] == 1 and p.forgetting_factor <= 1 and s.moment.dtype.kind == "f")


def most_rows(s: State, p: Params) -> float:
    """The number of rows up to which `add_numbers` is faster than products of BLAS; 0 if it cannot learn them."""
    if len(s.moment) > MAX_FEATURES or not has_constant_weights(s, p):
        return 0
    return math.inf if p.forgetting_factor < 1 else MANY_ROWS


def bind_few_features(s: State, p: Params) -> BoundRows:
    """The function of `bind_rows` for few features: one compiled call."""
    entry = add_numbers.entry_point(s.moment.dtype)
    return partial(entry, s.information, s.moment.reshape(-1), float(p.forgetting_factor))


def learn_numbers(s: State, p: Params, X: Array, y: Array, out: Array) -> int:
    """The function of `bind_rows` for all other rows: `learn`, unless y is not finite or `out` asks for predictions."""
    with np.errstate(all="ignore"):  # a bound function is called without
        if len(out) or not math.isfinite(float(np.vdot(y, y))):
            return NOT_FINITE
        return learn(s, X, y[:, None], p, None)


def step(s: State, A: Array, Y: Array, p: Params) -> bool:
    """L <- ff L + A'A,  m <- ff m + A'Y; if a number would not be finite, change nothing and return False."""
    ff, t = p.forgetting_factor, p.t
    if len(A) == 1:
        return add(s, A, Y, ff, t, math.inf) == 1
    kept, (weight,) = forgetting_weights(ff, t, 1)
    weight = np.finfo(A.dtype).dtype.type(weight)  # float64 would hide an overflow in float32
    diagonal = kept * np.diagonal(s.information).real + weight * (A * A.conj()).real.sum(axis=0)
    if not (is_finite(diagonal) and is_finite(kept * s.moment + weight * (A.conj().T @ Y))):
        return False
    with limit_blas_threads(float(len(A)) * s.information.size):
        add_block(s.information, s.moment, A, Y, kept, np.full(len(A), weight, A.dtype))
    return True


def solve(s: State) -> tuple[Array, float]:
    """Solve L w = m; return w and its precision (see `factor_information`)."""
    with limit_blas_threads(float(len(s.information)) ** 3 / 3, square=len(s.information)):
        return solve_normal_equations(s.information, s.moment)


def fleet_solve(s: State) -> tuple[Array, Array]:
    """`solve` for each of m learners: s.information (m, p, p), s.moment (m, p, r)."""
    return solve_members(s.information, s.moment)


def add(s: State, X: Array, Y: Array, ff: float, t: int, energy: float) -> int:
    """Learn rows starting at step t; energy is the sum of their squares. Returns how many were learned."""
    L, m = s.information, s.moment
    is_complex = X.dtype.kind == "c"
    if (len(X) >= MIN_ROWS or is_complex) and sums_stay_finite(L, m, energy, Y):
        add_block(L, m, X, Y, *forgetting_weights(ff, t, len(X)))
        return len(X)
    if is_complex:
        return learn_rows(L, m, X, Y, ff, t)
    weights = np.ones(len(X), X.dtype) if ff <= 1 else forgetting_weights(ff, t, len(X))[1].astype(X.dtype)
    return int(add_rows(L, m, X, Y, min(ff, 1.0), weights))


def add_block(L: Array, m: Array, X: Array, Y: Array, kept: float, weights: Array) -> None:
    """L <- kept L + X'WX,  m <- kept m + X'WY."""
    if (weights != 1).any():
        root = np.sqrt(weights).astype(X.dtype)[:, None]
        X, Y = root * X, root * Y
    add_products(L, X, kept)
    m *= kept
    m += X.conj().T @ Y


fleet_learn = make_ridge_fleet_learn(learn)
