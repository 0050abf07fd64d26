"""Normalized LMS, declared in `orfit_bench/catalogue/methods/nlms.py`.

Survey, the program (LMS); Krasulina paper, after eq. (13).

Shapes: J (q, p) rows, E (q, r) errors, w (p, r).
"""

from typing import Any

import numpy as np

from orfit_bench.kernels.fleets import make_batched_learn, move_members
from orfit_bench.kernels.guards import is_finite, normal_range
from orfit_bench.kernels.loops import Array, keep_finite, make_learn
from orfit_bench.kernels.regularized_inverse import regularized_inverse
from orfit_bench.spec.kernel_arguments import FleetParams, Params, State
from orfit_bench_numpy._normalized_step import normalized_step


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """Take one step that removes a fraction of the errors: `step_size`, or less if eps > 0."""
    w = s.w + normalized_move(J, E, p.step_size[0], p.eps)
    if not is_finite(w):
        return False
    s.w[...] = w
    return True


def normalized_move(J: Array, E: Array, step: Any, eps: float) -> Array:
    """The move step J'(J J' + eps I)^+ E (p, r) of the weights."""
    if len(J) == 1:
        return normalized_step(J, E, step, eps)  # step e x / (eps + x^H x) for a row x^H
    move: Array = step * regularized_inverse(J, eps).times(E)  # several outputs of a model
    return move


@keep_finite
def learn_rows(w: Array, X: Array, y: Array, p: Params, out: Array | None) -> int:
    """NLMS steps for one output, row by row: w (d,), x (d,).

    Stops before a row for which a square or a quotient would over- or underflow; returns the number of rows learned.
    """
    smallest, _ = normal_range(w.dtype)
    for i, x in enumerate(X):
        f, energy = x.dot(w), p.eps + x.dot(x.conj()).real
        e = y[i] - f
        gain = p.step_size[i] * (e / energy)
        if not (smallest < energy and (smallest < abs(gain) or e == 0)):  # an infinite energy has the gain 0
            return i
        if out is not None:
            out[i] = f
        w += gain * x.conj()  # w + step e x / (eps + x^H x) for a row x^H
    return len(X)


COMPLEX = True
learn = make_learn(update, learn_rows)


def step_members(s: State, x: Array, e: Array, p: FleetParams, j: Array, row: Array) -> Array:
    """Learn one row of each of m members: x (m, d) rows, e (m, r) errors, s.w (m, d, r).

    See `orfit_bench.kernels.fleets.Step` for j and row.
    """
    step, eps = p.step_size[row].astype(x.dtype), p.eps[j].astype(x.dtype)
    smallest, _ = normal_range(x.dtype)
    energy = np.vecdot(x, x) + eps
    gain = (step / energy)[:, None] * e
    move = x[:, :, None] * gain[:, None, :]  # step e x / (eps + x'x)
    exact = (smallest < energy) & (smallest < step / energy)
    exact &= (np.isfinite(gain) & (smallest < np.abs(gain)) | (e == 0)).all(axis=1)
    for k in np.flatnonzero(~exact):
        move[k] = normalized_step(x[k : k + 1], e[k : k + 1], step[k], eps[k])
    return move_members(s.w, move)


fleet_learn = make_batched_learn(step_members)
