"""Orthogonal gradient descent (thesis, eq. 2.4; survey, OGD): gradient steps off the span of earlier gradients."""

import numpy as np

from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numba._arrays import Array, BoundRow
from orfit_bench_numba._block_gram_schmidt import new_directions
from orfit_bench_numba._network_gradients import by_gradients
from orfit_bench_numba._projection import append_directions, fit_rows
from orfit_bench_numba._projection import bind_row as bind_projected_row


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """w <- w + step e r with r = x - U U'x; then U <- [U r/|r|]."""
    return fit_rows(s, X, Y, out, p.step_size)


def bind_row(s: State, p: Params) -> BoundRow | None:
    """A function that learns one row with one output."""
    return bind_projected_row(s, p.memory, p.step_size)


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """w <- w + step (I - U U') J'E."""
    return _apply_step(s, *new_directions(s.basis[: s.count[0]], J), E, p)


def store(s: State, J: Array, p: Params) -> None:
    """U <- [U r/|r|], where r is the residual of the gradient after the step."""
    append_directions(s, new_directions(s.basis[: s.count[0]], J)[0])


def step(s: State, A: Array, Y: Array, p: Params) -> bool:
    """Update and store with the rows of A as one block, whose gradients do not depend on w."""
    Q, R = new_directions(s.basis[: s.count[0]], A)
    if not _apply_step(s, Q, R, Y - A @ s.w, p):
        return False
    append_directions(s, Q)
    return True


def _apply_step(s: State, Q: Array, R: Array, E: Array, p: Params) -> bool:
    w = s.w + p.step_size[0] * (Q.T @ (R @ E))
    if not np.isfinite(w).all():
        return False
    s.w[...] = w
    return True


for_network = by_gradients(update, store)
