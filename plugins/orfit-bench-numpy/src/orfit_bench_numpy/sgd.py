"""SGD and its variants, declared in `orfit_bench/catalogue/methods/sgd.py`.

Slides, "SGD beyond least square" to "SGD convergence", with two corrections: steps go against the gradient, and means
are divided by the sum of their weights.

Shapes: J (b, p) gradients of a step's rows, E and Y (b, r) errors and targets, w, v, g (p, r).
"""

import math
from typing import Any

import numpy as np
from scipy.linalg import norm
from scipy.special import expit

from orfit_bench.kernels.guards import is_finite
from orfit_bench.kernels.loops import Array, keep_finite
from orfit_bench.kernels.parts import divided, largest_parts
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numpy._sgd_fleets import make_sgd_fleet_learn
from orfit_bench_numpy.softmax import probabilities


def cross_entropy_slope(E: Array, Y: Array, p: Params) -> Array:
    """q - y for each row of the step, where q is the softmax of its predictions f = y - e.

    A row has one gradient per output.
    """
    F = (Y - E).reshape(p.batch_size, -1)
    return probabilities(F).reshape(Y.shape) - Y


# l'(y, f) as a function of e = y - f; E, Y (b, r). heaviside(z, 0) is 1 for z > 0 and 0 for z <= 0; NaN stays NaN.
SLOPES = {
    "square": lambda E, Y, p: -E,
    "absolute": lambda E, Y, p: -np.sign(E),
    "huber": lambda E, Y, p: -np.clip(E, -p.delta, p.delta),
    "hinge": lambda E, Y, p: -Y * np.heaviside(Y * E, 0),  # 1 - y f = y (y - f), for y = -1 or 1
    "logistic": lambda E, Y, p: -Y * expit(Y * E - 1),
    "epsilon_insensitive": lambda E, Y, p: -np.sign(E) * np.heaviside(np.abs(E) - p.epsilon, 0),
    "quantile": lambda E, Y, p: (1 - p.tau) * np.heaviside(-E, 0) - p.tau * np.heaviside(E, 0),
    "cross_entropy": cross_entropy_slope,
}


def ahead(s: State, p: Params) -> Array:
    """The point v_t at which Nesterov's method evaluates the gradient; v_1 = w_1."""
    if p.t == 1 or not hasattr(s, "previous"):
        w: Array = s.w
        return w
    v: Array = s.w + p.momentum[0] * (s.w - s.previous)  # "momentum": v_t = w_t + beta_t (w_t - w_(t-1))
    return v


def descend(s: State, v: Array, J: Array, E: Array, Y: Array, p: Params) -> bool:
    """Replace w_t by w_(t+1) and update the average; return False for infinite errors, even if slopes are finite."""
    if not is_finite(E):
        return False
    # "mini-batching": g_t = (1/b) sum_j x_j l'(y_j, x_j^H v_t); gamma_t l' first, as g_t may overflow
    return take_step(s, v, J.conj().T.dot(p.step_size[0] * SLOPES[p.loss](E, Y, p) / p.batch_size), p)


def take_step(s: State, v: Array, change: Array, p: Params) -> bool:
    """Replace w_t by w_(t+1) and update the average. `change`, gamma_t g_t without the ridge, is overwritten."""
    if p.ridge:
        change += p.step_size[0] * p.ridge * v
    w = v - change  # "SGD convergence": w_(t+1) = Proj(v_t - gamma_t g_t)
    if not is_finite(w) or not (p.averaging == "none" or update_average(s, p)):
        return False
    if p.radius < math.inf:
        w = project_to_ball(w, p.radius)
    if hasattr(s, "previous"):
        s.previous[...] = s.w
    s.w[...] = w
    return True


def project_to_ball(w: Array, radius: float) -> Array:
    """The point nearest to w in the ball of this radius (Frobenius norm)."""
    if norm(w.ravel()) <= radius:  # SciPy scales vectors so that squares do not over- or underflow
        return w
    unit = divided(w, largest_parts(w).max())
    inside: Array = unit * (radius / float(norm(unit.ravel())))
    return inside


def update_average(s: State, p: Params) -> bool:
    """Update the mean of w_1..w_t with weights a_j (slides, "averaging"); False if the sum of weights overflows."""
    a = average_weight(p)
    if not a > 0:
        return True
    total = s.average_weight.real + a
    if not math.isfinite(total):
        return False
    share = a / total
    s.average[...] = (1 - share) * s.average + share * s.w
    s.average_weight[...] = total
    return True


def average_weight(p: Params) -> Any:
    """The weight a_t of w_t in the average, not yet divided by the sum of all weights."""
    if p.averaging == "weighted":
        return p.weights[0]
    return float(p.averaging == "uniform" or p.t >= p.tail_start)


def prediction_weights(s: State) -> Array:
    """The weights used for predictions: the average, once there is one."""
    w: Array = s.average if hasattr(s, "average") and s.average_weight.real > 0 else s.w
    return w


COMPLEX = True
"""Only for the loss e^2 / 2; the other losses support real numbers only."""


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """Take one step with the gradients and errors at v_t."""
    return descend(s, ahead(s, p), J, E, p.targets, p)


def slopes(s: State, E: Array, p: Params) -> Array:
    """The derivative l'(y, f) of the loss for each output."""
    found: Array = SLOPES[p.loss](E, p.targets, p)
    return found


def move(s: State, g: Array, p: Params) -> bool:
    """Take one step against the sum of the gradients at v_t."""
    return take_step(s, ahead(s, p), p.step_size[0] * g / p.batch_size, p)


def is_plain(s: State, p: Params) -> bool:
    """Whether a step uses only the gradient of one row's square loss: no momentum, average, penalty or projection."""
    return (
        p.loss == "square"
        and p.batch_size == 1
        and not p.ridge
        and p.radius == math.inf
        and not (hasattr(s, "previous") or hasattr(s, "average"))
    )


@keep_finite
def learn_plain_rows(w: Array, X: Array, y: Array, p: Params, out: Array | None) -> int:
    """Plain steps for one output, row by row: w (d,), x (d,)."""
    for i, x in enumerate(X):
        f = x.dot(w)
        if out is not None:
            out[i] = f
        w -= p.step_size[i] * (f - y[i]) * x.conj()  # w_(t+1) = w_t - gamma_t g_t, where l'(y, f) = f - y
    return len(X)


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """Take one step for every b rows A with errors y - A v; predict with the averaged weights."""
    if Y.shape[1] == 1 and is_plain(s, p):
        return learn_plain_rows(s, X, Y[:, 0], p, None if out is None else out[:, 0])
    b = p.batch_size
    for i in range(0, len(X), b):
        A, y, params = X[i : i + b], Y[i : i + b], p if len(X) == b else p.at(i // b)
        if out is not None:
            out[i : i + b] = A.dot(prediction_weights(s))
        v = ahead(s, params)
        if not descend(s, v, A, y - A.dot(v), y, params):
            return i
    return len(X)


def step(s: State, A: Array, Y: Array, p: Params) -> bool:
    """Learn all rows of A in one step."""
    return learn(s, A, Y, p, None) == len(A)


fleet_learn = make_sgd_fleet_learn(lambda loss, E, Y, p: SLOPES[loss](E, Y, p))
