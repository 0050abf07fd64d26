"""Normalised LMS, declared in `orfit_bench/catalogue/methods/nlms.py`.

Survey, the program (LMS); Krasulina paper, after eq. (13).

Shapes: J (q, p) rows, E (q, r) errors, w (p, r).
"""

from typing import Any

import numpy as np

from orfit_bench.kernels.fleets import make_batched_learn, move_members
from orfit_bench.kernels.guards import is_finite, is_normal, normal_range
from orfit_bench.kernels.linalg import regularized_inverse
from orfit_bench.kernels.loops import Array, keep_finite, make_learn
from orfit_bench.spec.kernel import Params, State


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """One step that removes a fraction of the errors."""
    w = s.w + p.step_size[0] * full_step(J, E, p.eps)
    if not is_finite(w):
        return False
    s.w[...] = w
    return True


def full_step(J: Array, E: Array, eps: float) -> Array:
    """J'(J J' + eps I)^+ E (p, r), which removes the errors if eps is 0."""
    energy = np.vdot(J, J).real + np.finfo(J.dtype).dtype.type(eps)
    if len(J) == 1 and is_normal(energy):
        row_step: Array = J.conj().T @ (E / energy)  # e x / (eps + x^H x) for a row x^H
        return row_step
    # several outputs of a model, or a row whose square over- or underflows
    return regularized_inverse(J, eps).times(E)


@keep_finite
def learn_rows(w: Array, X: Array, y: Array, p: Params, out: Array | None) -> int:
    """The same for one output, row by row: w (d,), x (d,). Stops where a square over- or underflows."""
    smallest, largest = normal_range(w.dtype)
    for i, x in enumerate(X):
        f, energy = x.dot(w), p.eps + x.dot(x.conj()).real
        if not smallest < energy < largest:
            return i
        if out is not None:
            out[i] = f
        w += p.step_size[i] * (y[i] - f) / energy * x.conj()  # w + step e x / (eps + x^H x) for a row x^H
    return len(X)


COMPLEX = True
learn = make_learn(update, learn_rows)


def step_members(s: Any, x: Array, e: Array, p: Any, j: Array, row: Array) -> Array:
    """A step of many members at once: x (m, d) rows, e (m, r) errors, s.w (m, d, r)."""
    energy = np.vecdot(x, x) + p.eps[j].astype(x.dtype)
    direction = x[:, :, None] * (e / energy[:, None])[:, None, :]  # e x / (eps + x'x)
    for k in np.flatnonzero([not is_normal(one) for one in energy]):  # squares that over- or underflow
        direction[k] = full_step(x[k : k + 1], e[k : k + 1], p.eps[j[k]])
    return move_members(s.w, p.step_size[row, None, None] * direction)


fleet_learn = make_batched_learn(step_members)
