"""Gradient descent on networks, row by row: the steps of lms, sgd and softmax (see `_sgd_moves`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numba._arrays import Array, BoundLabel, BoundRow, Indices, Scalar
from orfit_bench_numba._compile import compiled, inline
from orfit_bench_numba._finite import is_finite
from orfit_bench_numba._losses import CROSS_ENTROPY, HINGE, LOGISTIC, loss_slope
from orfit_bench_numba._network import propagate, propagate_back, write_gradient
from orfit_bench_numba._network_rows import NetworkRows
from orfit_bench_numba._sgd_moves import look_ahead, move_along
from orfit_bench_numba._sgd_steps import Schedule, Weights


class Descent(NamedTuple):
    """The loss and the state of a method, in the order of the arguments of `descend`."""

    weights: tuple[Array, Array, Array, Array]
    schedule: tuple[Array, Array, Array]
    loss: tuple[int, float]
    """The kind and the parameter of the loss."""
    penalty: tuple[float, float]
    """The ridge, and the radius of the ball onto which w is projected."""
    seen: Array
    """The number of rows of each class, or (0,) if all outputs count from the start."""
    varies: bool = False
    """Whether a step depends on its number, in addition to the arrays with an entry per step."""

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments of `descend`."""
        return tuple(self[:-1])


class NetworkDescent(NetworkRows):
    """Learns rows of a network with d features and c outputs; `describe` returns the `Descent` of a method.

    `describe` gets the state, the parameters of the steps, and whether a step was taken before.
    """

    def __init__(self, network: Any, d: int, c: int, describe: Callable[[Any, Any, bool], Descent]) -> None:
        super().__init__(network, d, c)
        self._describe = describe

    def learn(self, s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
        """Learn rows, each in one step; the average predicts. Only a chunk that ends badly is checked row by row."""
        given = X, Y, *self.shape, *self._describe(s, p, p.t > 1).arguments, self._allocate_all(s)
        enter, predictions = descend.entry_point(X.dtype), np.empty((0, 0), X.dtype) if out is None else out
        if len(X) == 1:
            return int(enter(*given, True, predictions))
        before = [a.copy() for a in s]
        if enter(*given, False, predictions) == len(X) and np.isfinite(s.w).all():
            return len(X)
        for a, was in zip(s, before, strict=True):
            a[...] = was
        return int(enter(*given, True, predictions))

    def _bind(self, s: State, p: Params, Y: Array) -> Callable[[Array], int] | None:
        """A function that learns the row in X (1, d) with the targets in Y (1, c) at the time of the call."""
        found = self._describe(s, p, True)
        if found.varies:
            return None
        entry, given = descend.entry_point(s.w.dtype), (*self.shape, *found.arguments, self._allocate_all(s))
        nothing = np.empty((0, 0), s.w.dtype)
        return lambda X: entry(X, Y, *given, True, nothing)

    def _allocate_all(self, s: State) -> tuple[Array, ...]:
        """The work space of `descend`."""
        g, dtype = np.empty(len(s.w), s.w.dtype), s.w.dtype
        v = np.empty_like(g) if hasattr(s, "previous") else g[:0]
        return *self.allocate(dtype), g, v, np.ones(self.shape.widths[-1], dtype)


class NumberDescent(NetworkDescent):
    """A `NetworkDescent` for numbers as targets."""

    def bind_row(self, s: State, p: Params) -> BoundRow | None:
        """See `Kernel.bind_row`; the cross-entropy does not support single numbers as targets."""
        Y = np.empty((1, 1), s.w.dtype)
        if not (learn := self._bind(s, p, Y)):
            return None

        def learn_row(x: Array, y: float) -> int:
            Y[0, 0] = y
            return learn(x[None])

        return learn_row


class LabelDescent(NetworkDescent):
    """A `NetworkDescent` for labels as targets."""

    def bind_label(self, s: State, p: Params) -> BoundLabel | None:
        """See `Kernel.bind_label`."""
        Y = np.zeros((1, self.shape.widths[-1]), s.w.dtype)
        if not (learn := self._bind(s, p, Y)):
            return None

        def learn_label(x: Array, label: int) -> int:
            Y[0] = 0
            Y[0, label] = 1
            return learn(x[None])

        return learn_label


@compiled("R R I i i (w w w w) (r r r) (i f) (f f) w (w w w w w) b W")
def descend(
    X: Array,
    Y: Array,
    widths: Indices,
    activation: int,
    bias: int,
    weights: Weights,
    schedule: Schedule,
    loss: tuple[int, Scalar],
    penalty: tuple[Scalar, Scalar],
    seen: Array,
    space: tuple[Array, Array, Array, Array, Array],
    careful: bool,
    out: Array,
) -> Any:
    """w <- Proj(v - step (J'S + ridge v)) for each row, with the slopes S of its loss and the gradients J at v.

    space has room for a and z (see `_network`), the gradient, v, and a number per class, positive if it was seen. Stops
    before an error that is not finite. With `careful` also stops before a step that would make w non-finite, before a
    row that is not finite, and before a first target other than -1 and 1 if the loss requires a sign: rows that were
    not validated have one target. Returns the number of rows learned.
    """
    w, previous, average, total = weights
    step, beta, counts = schedule
    kind, parameter = loss
    ridge, radius = penalty
    a, z, g, ahead, known = space
    for t in range(len(X)):
        if careful and not (is_finite(X[t]) and (kind not in (HINGE, LOGISTIC) or Y[t, 0] * Y[t, 0] == 1)):
            return t
        averaged, moved = len(average) > 0 and total[0] > 0, beta[t] > 0
        if moved:
            look_ahead(ahead, w, previous, beta[t])
        first = 0 if len(out) and (averaged or moved) else 1  # 0: separate weights predict; 1: the weights of the step
        for use in range(first, 2):
            v = w if not moved else ahead
            if use == 0:
                v = w if not averaged else average
            propagate(v, X[t], widths, activation, bias, a, z)
            if len(out) and use == first:
                for k in range(out.shape[1]):
                    out[t, k] = z[len(z) - out.shape[1] + k]
        for k in range(len(seen)):
            known[k] = seen[k] + Y[t, k]
        if not become_slopes(z, Y, t, kind, parameter, known):
            return t
        for k in range(Y.shape[1]):
            z[len(z) - Y.shape[1] + k] *= step[t]  # step g is finite even if g would overflow
        propagate_back(v, widths, bias, z)
        write_gradient(g, widths, bias, a, z)
        shrink = step[t] * ridge
        if not move_along(w, previous, average, total, ahead, g, shrink, beta[t], counts[t], radius, careful):
            return t
        for k in range(len(seen)):
            seen[k] += Y[t, k]
    return len(X)


@inline
def become_slopes(z: Array, Y: Array, t: int, kind: int, parameter: Scalar, known: Array) -> Any:
    """Replace the outputs at the end of z by the slopes of the loss, for row t of Y; False if one is not finite."""
    c = Y.shape[1]
    first = len(z) - c
    top, total = -z.dtype.type(np.inf), z.dtype.type(0)
    for k in range(c):
        f = z[first + k]
        if not np.isfinite(Y[t, k] - f):
            return False
        if known[k] > 0 and f > top:
            top = f
    for k in range(c):
        f, y = z[first + k], Y[t, k]
        if kind != CROSS_ENTROPY:
            z[first + k] = loss_slope(kind, y - f, y, parameter)
        else:
            z[first + k] = np.exp(f - top) if known[k] > 0 else 0
            total += z[first + k]
    if kind == CROSS_ENTROPY:
        for k in range(c):
            z[first + k] = z[first + k] / total - Y[t, k]
    return True
