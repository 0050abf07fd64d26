"""The rule on arrays. It changes the state s in place; the rows have been validated."""

import numpy as np
from orfit_bench.spec import Array, Params, State


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """Learn the rows in order. Returns the number of rows learned; a row that cannot be learned leaves s unchanged.

    A subspace has neither targets Y nor predictions `out`.
    """
    for i in range(len(X)):
        if not (largest := np.abs(X[i]).max()):  # a row of zeros has no direction
            continue
        x = X[i] / largest
        C = s.basis + p.step_size / (x @ x) * np.outer(x, x @ s.basis)
        if not np.isfinite(C).all():
            return i
        Q, R = np.linalg.qr(C)
        s.basis[...] = Q * np.copysign(1, np.diagonal(R))
    return len(X)
