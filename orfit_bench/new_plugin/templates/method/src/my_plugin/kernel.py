"""The rule on arrays. It changes the state s in place; the rows have been validated."""

import numpy as np
from orfit_bench.spec import Array, Params, State


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """w <- (1 - leak step) w + step J'E. Returns False, and leaves s unchanged, if the result is not finite."""
    step = p.step_size[0]
    w = (1 - p.leak * step) * s.w + step * J.T @ E
    if not np.isfinite(w).all():
        return False
    s.w[...] = w
    return True


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """Learn the rows in order and write the prediction before each to `out`. Returns the number of rows learned."""
    for i in range(len(X)):
        x = X[i : i + 1]
        prediction = x @ s.w
        if out is not None:
            out[i] = prediction
        if not update(s, x, Y[i : i + 1] - prediction, p.at(i)):
            return i
    return len(X)
