"""The rule on arrays. It changes the state s in place; the rows have been validated."""

from typing import Any

import numpy as np


def learn(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    """Learn the rows in order and write the scores before each to `out`. Returns the number of rows learned.

    Y (n, classes) has the unit vector of each label. A row that cannot be learned leaves s as it was.

    Classes of later rows of X are columns already, of zeros: a step must leave them so, as this one does, since their
    scores and targets are 0. A rule that moves all columns needs a further field, ("output",), that marks the classes
    that it has seen.
    """
    for i in range(len(X)):
        x = X[i]
        scores = np.array([x @ np.ascontiguousarray(w) for w in s.w.T])  # a later class rounds nothing differently
        if out is not None:
            out[i] = scores
        size = p.eps + x @ x
        if size == 0 and not x.any():  # a row of zeros tells nothing
            continue
        w = s.w + np.outer(p.step_size / size * x, Y[i] - scores)
        if not np.finfo(size.dtype).tiny < size < np.inf or not np.isfinite(w).all():  # a square that lost its digits
            return i
        s.w[...] = w
    return len(X)
