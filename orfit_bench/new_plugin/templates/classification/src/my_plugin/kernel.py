"""The rule on arrays. It changes the state s in place; the rows have been validated."""

import numpy as np
from orfit_bench.spec import Array, Params, State


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """Learn the rows in order and write the scores before each to `out`. Returns the number of rows learned.

    Row i of Y (n, classes) is the unit vector of label i. A row that cannot be learned leaves s unchanged.

    Classes that first appear in later rows of X already have columns, filled with zeros, which a step must not change.
    This step does not, because their scores and targets are 0. A rule that changes all columns needs an additional
    field with axes ("output",) that marks the classes seen so far.
    """
    for i in range(len(X)):
        x = X[i]
        scores = np.array([x @ np.ascontiguousarray(w) for w in s.w.T])  # rounding does not depend on later classes
        if out is not None:
            out[i] = scores
        size = p.eps + x @ x
        if size == 0 and not x.any():  # a row of zeros changes nothing
            continue
        w = s.w + np.outer(p.step_size / size * x, Y[i] - scores)
        if not np.finfo(size.dtype).tiny < size < np.inf or not np.isfinite(w).all():  # |x|^2 has lost digits
            return i
        s.w[...] = w
    return len(X)
