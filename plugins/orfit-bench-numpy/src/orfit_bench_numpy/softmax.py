"""Softmax regression, declared in `orfit_bench/catalogue/methods/softmax.py`.

w has one column per class. Products are computed column by column, as in `class_rls`, so that a class that appears late
does not change the rounding before.

Shapes: A (q, p) rows, F (q, c) scores, Q (q, c) probabilities, Y (q, c) one-hot labels, w (p, c) for c classes. On a
nonlinear model w is (p, 1), J (q c, p) and E (q c, 1), with a row for each output.
"""

import numpy as np

from orfit_bench.kernels.fleets import make_batched_rounds
from orfit_bench.kernels.guards import is_finite
from orfit_bench.kernels.loops import Array
from orfit_bench.spec.kernel_arguments import FleetParams, Params, State
from orfit_bench_numpy._products import multiply_by_columns


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """Learn row by row; the scores of a row are w'x."""
    for i in range(len(X)):
        row = slice(i, i + 1)
        F = multiply_by_columns(X[row], s.w)
        if out is not None:
            out[row] = F
        if not descend(s, X[row], F, Y[row], p.at(i)):
            return i
    return len(X)


def step(s: State, A: Array, Y: Array, p: Params) -> bool:
    """Learn all rows of A in one step on their mean loss."""
    return descend(s, A, multiply_by_columns(A, s.w), Y, p.at(0))


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """Take one step with the gradients J and errors E = Y - F of a nonlinear model."""
    return move(s, J.T.dot(slopes(s, E, p)), p)


def slopes(s: State, E: Array, p: Params) -> Array:
    """q - y for each output; 0 for classes that were not seen."""
    Y = p.targets.reshape(p.batch_size, -1)
    F, known = Y - E.reshape(Y.shape), known_classes(s, Y)
    found: Array = np.zeros((Y.size, 1), Y.dtype)
    found.reshape(Y.shape)[:, known] = probabilities(F[:, known]) - Y[:, known]
    return found


def move(s: State, g: Array, p: Params) -> bool:
    """Take one step against the sum of gradients."""
    Y = p.targets.reshape(p.batch_size, -1)
    w = s.w - p.step_size[0] * (g / len(Y) + p.ridge * s.w)  # w - step (g / b + ridge w)
    if not is_finite(w):
        return False
    s.w[...] = w
    s.seen[...] += Y.sum(axis=0)
    return True


def known_classes(s: State, Y: Array) -> Array:
    """Whether each class has been seen, in these rows or before."""
    known: Array = (s.seen > 0) | Y.any(axis=0)
    return known


def probabilities(F: Array) -> Array:
    """q_k = exp(f_k) / sum_j exp(f_j) for the scores f of each row."""
    Q: Array = np.exp(F - F.max(axis=1, keepdims=True))
    Q /= Q.sum(axis=1, keepdims=True)
    return Q


def descend(s: State, A: Array, F: Array, Y: Array, p: Params) -> bool:
    """w_k <- w_k - step (mean over the rows of (q_k - y_k) x, plus ridge w_k) for every class that was seen."""
    known = known_classes(s, Y)
    g = multiply_by_columns(A.T, probabilities(F[:, known]) - Y[:, known]) / len(A) + p.ridge * s.w[:, known]
    w = s.w[:, known] - p.step_size[0] * g
    if not is_finite(w):
        return False
    s.w[:, known] = w
    s.seen[...] += Y.sum(axis=0)
    return True


def step_members(s: State, x: Array, y: Array, p: FleetParams, j: Array, row: Array, out: Array | None) -> Array:
    """Learn one row of each of m members, as `descend`: x (m, p) rows, y (m, c) labels, s.w (m, p, c), s.seen (m, c).

    See `orfit_bench.kernels.fleets.Step` for j and row.
    """
    F = np.vecdot(s.w.mT, x[:, None])  # (m, c), every score as a separate dot product
    if out is not None:
        out[row] = F
    known = (s.seen > 0) | (y > 0)
    Q = np.where(known, probabilities(np.where(known, F, -np.inf)), 0)
    step, ridge = p.step_size[row, None, None].astype(x.dtype), p.ridge[j, None, None].astype(x.dtype)
    w = s.w - step * (x[:, :, None] * (Q - y)[:, None, :] + ridge * s.w)  # w_k - step ((q_k - y_k) x + ridge w_k)
    applied: Array = np.isfinite(w).all(axis=(1, 2))
    s.w[applied] = w[applied]
    s.seen[applied] += y[applied]
    return applied


fleet_learn = make_batched_rounds(step_members)
