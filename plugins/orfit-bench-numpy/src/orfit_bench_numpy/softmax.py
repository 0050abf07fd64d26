"""Softmax regression, declared in `orfit_bench/catalogue/methods/softmax.py`.

One column of w per class. Products take the columns one by one, as in `class_rls`, so that a class that is seen late
rounds nothing differently before.

Shapes: A (q, p) rows, F (q, r) scores, Q (q, r) probabilities, Y (q, r) one-hot labels, w (p, r) for r classes.
"""

import numpy as np

from orfit_bench.kernels.guards import is_finite
from orfit_bench.kernels.loops import Array
from orfit_bench.spec.kernel import Params, State
from orfit_bench_numpy.class_rls import multiply_by_columns


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """Row after row; the scores of a row are w'x."""
    for i in range(len(X)):
        row = slice(i, i + 1)
        F = multiply_by_columns(X[row], s.w)
        if out is not None:
            out[row] = F
        if not descend(s, X[row], F, Y[row], p.at(i)):
            return i
    return len(X)


def step(s: State, A: Array, Y: Array, p: Params) -> bool:
    """All rows of A as one step on their mean loss."""
    return descend(s, A, multiply_by_columns(A, s.w), Y, p.at(0))


def descend(s: State, A: Array, F: Array, Y: Array, p: Params) -> bool:
    """w_k <- w_k - step ((q_k - y_k) x + ridge w_k) for the classes that were seen, in the mean over the rows."""
    known = (s.seen > 0) | Y.any(axis=0)
    Q = np.exp(F[:, known] - F[:, known].max(axis=1, keepdims=True))
    Q /= Q.sum(axis=1, keepdims=True)  # q_k = exp(w_k'x) / sum_j exp(w_j'x)
    g = multiply_by_columns(A.T, Q - Y[:, known]) / len(A) + p.ridge * s.w[:, known]
    w = s.w[:, known] - p.step_size[0] * g
    if not is_finite(w):
        return False
    s.w[:, known] = w
    s.seen[...] += Y.sum(axis=0)
    return True
