"""Orthogonal gradient descent (thesis, eq. 2.4; survey, OGD): step along the gradient, off the span of former ones."""

from typing import Any

from orfit_bench_numpy._algebra import Array, append, by_block, by_rows, finite, new_directions


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """w <- w + step (I - U U') J'E."""
    Q, R = new_directions(s.basis[: s.count[0]].T, J.T)
    w = s.w + p.step_size[0] * (Q @ (R @ E))
    if not finite(w):
        return False
    s.w[...] = w
    return True


def store(s: Any, J: Array, p: Any) -> None:
    """U <- [U r/|r|], the gradient taken after the step."""
    Q, _ = new_directions(s.basis[: s.count[0]].T, J.T)
    append(s, Q)


def update_and_store(s: Any, J: Array, E: Array, p: Any) -> bool:
    """Both on a linear model, whose gradient does not depend on w."""
    if not update(s, J, E, p):
        return False
    store(s, J, p)
    return True


learn = by_rows(update_and_store)
step = by_block(update_and_store)
