"""The ideal continual learner (survey, Prop. 1 and Remark 1): fit the new row, keep all former ones fitted."""

from typing import Any

from orfit_bench_numpy._algebra import Array, append, by_block, by_rows, finite, fitted, new_directions


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """w <- w + r (x'r)^-1 e with r = P x, P = I - U U'; then U <- [U r/|r|]."""
    U = s.basis[: s.count[0]].T
    Q, R = new_directions(U, J.T)  # r = Q R, so x'r = R'R
    if not R.size:
        return True  # every row is dependent
    w = s.w + Q @ fitted(R, E)
    if not (finite(w) and finite(R)):
        return False
    s.w[...] = w
    append(s, Q)
    return True


learn = by_rows(update)
step = by_block(update)
