"""Orthogonal gradient descent (thesis, eq. 2.4; survey, OGD): gradient steps off the span of earlier gradients."""

from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array
from orfit_bench_numba._block_gram_schmidt import new_directions
from orfit_bench_numba._network_gradients import by_gradients
from orfit_bench_numba._projection import append_directions, fit_rows
from orfit_bench_numba._projection import bind_row as bind_projected_row


def learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
    """w <- w + step e r with r = x - U U'x; then U <- [U r/|r|]."""
    return fit_rows(s, X, Y, out, p.step_size)


def bind_row(s: Any, p: Any) -> Any:
    """A function that learns one row with one output."""
    return bind_projected_row(s, p.memory, p.step_size)


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """w <- w + step (I - U U') J'E."""
    return _apply_step(s, *new_directions(s.basis[: s.count[0]], J), E, p)


def store(s: Any, J: Array, p: Any) -> None:
    """U <- [U r/|r|], where r is the residual of the gradient after the step."""
    append_directions(s, new_directions(s.basis[: s.count[0]], J)[0])


def step(s: Any, A: Array, Y: Array, p: Any) -> bool:
    """Update and store with the rows of A as one block, whose gradients do not depend on w."""
    Q, R = new_directions(s.basis[: s.count[0]], A)
    if not _apply_step(s, Q, R, Y - A @ s.w, p):
        return False
    append_directions(s, Q)
    return True


def _apply_step(s: Any, Q: Array, R: Array, E: Array, p: Any) -> bool:
    w = s.w + p.step_size[0] * (Q.T @ (R @ E))
    if not np.isfinite(w).all():
        return False
    s.w[...] = w
    return True


for_network = by_gradients(update, store)
