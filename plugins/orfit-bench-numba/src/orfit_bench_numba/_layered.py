"""Methods with an array for each layer of a network, row by row: what gp and owm share.

Compiled functions take the layers one at a time, since the number of arrays is part of the type of what they get.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.kernels.layers import layer_matrices
from orfit_bench_numba._arrays import Array, Indices, Scalar
from orfit_bench_numba._compile import compiled
from orfit_bench_numba._finite import is_finite
from orfit_bench_numba._network import propagate, propagate_back, shape_of, work_sizes


class Layer(NamedTuple):
    """A layer of n inputs and m outputs: views of the weights and of work space that each row fills anew."""

    Theta: Array
    """(n, m), of the state."""
    changed: Array
    """(n, m), for what Theta becomes."""
    a: Array
    """(n,), what the layer takes in."""
    e: Array
    """(m,), the errors at the layer's outputs: Delta = a e' is its gradient step."""


class Space:
    """Work space for the rows of a network in a state with the weights w (p, 1)."""

    def __init__(self, network: Any, d: int, c: int, w: Array) -> None:
        shape = shape_of(network, d, c)
        shapes = tuple(zip(shape.widths[:-1] + shape.bias, shape.widths[1:], strict=True))
        inputs, sums = (np.empty(size, w.dtype) for size in work_sizes(shape))
        changed = np.empty_like(w)
        ends = [np.cumsum([pair[k] for pair in shapes])[:-1] for k in (0, 1)]
        parts = layer_matrices(w, shapes), layer_matrices(changed, shapes), *map(np.split, (inputs, sums), ends)
        self.layers = [Layer(*views) for views in zip(*parts, strict=True)]
        enter, accept = propagate_row.entry_point(w.dtype), accept_change.entry_point(w.dtype)
        weights, all_changed, nothing = w.reshape(-1), changed.reshape(-1), np.empty(0, w.dtype)
        self.propagate: Callable[[Array, Array, Array], bool] = lambda x, y, out: enter(
            weights, x, y, *shape, inputs, sums, out
        )
        """propagate(x, y, out) fills a and e, and out with the outputs; False where an error is not finite."""
        self.take_in: Callable[[Array], bool] = lambda x: enter(weights, x, nothing, *shape, inputs, sums, nothing)
        """take_in(x) fills a at the weights as they are now."""
        self.accept: Callable[[], bool] = lambda: accept(weights, all_changed)
        """accept() makes `changed` the weights; False where it is not finite."""


@compiled("w r r I i i w w w")
def propagate_row(
    w: Array, x: Array, y: Array, widths: Indices, activation: int, bias: int, a: Array, z: Array, out: Array
) -> Any:
    """Fill a and z for row x, and with targets y the errors at all sums; returns whether those of y are finite.

    out (c,) or (0,) gets the outputs.
    """
    propagate(w, x, widths, activation, bias, a, z)
    first, finite = len(z) - widths[-1], True
    for k in range(len(out)):
        out[k] = z[first + k]
    if len(y):
        for k in range(len(y)):
            z[first + k] = y[k] - z[first + k]
            finite &= np.isfinite(z[first + k])
        propagate_back(w, widths, bias, z)
    return finite


@compiled("W W r r f")
def move_layer(Theta: Array, changed: Array, r: Array, e: Array, rate: Scalar) -> None:
    """changed <- Theta + rate r e'."""
    for j in range(len(r)):
        share = rate * r[j]
        for i in range(len(e)):
            changed[j, i] = Theta[j, i] + share * e[i]


@compiled("w r")
def accept_change(w: Array, changed: Array) -> Any:
    """w <- changed where that is finite; returns whether it is."""
    if not is_finite(changed):
        return False
    for j in range(len(w)):
        w[j] = changed[j]
    return True


Step = Callable[[Array, Array, Array, float, int], bool]
"""step(x, y, out, size, t) learns row x with targets y (c,) by the step t of this size; False where it is refused.

The prediction before it goes to out (c,) or (0,).
"""


class LayeredRows:
    """Learns rows of a network of d features and c outputs; `make_step(s, p, space)` makes the `Step` of a method.

    `counts_steps` says that the number of a step decides what it does.
    """

    def __init__(
        self, network: Any, d: int, c: int, make_step: Callable[[Any, Any, Space], Step], counts_steps: bool = False
    ) -> None:
        self._network, self._make_step, self._counts_steps = (network, d, c), make_step, counts_steps

    def learn(self, s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
        """Each row is a step."""
        step, nothing = self._make_step(s, p, Space(*self._network, s.w)), np.empty(0, X.dtype)
        for i in range(len(X)):
            if not step(X[i], Y[i], nothing if out is None else out[i], p.step_size[i], p.t + i):
                return i
        return len(X)

    def bind_row(self, s: Any, p: Any) -> Callable[[Array, float], int] | None:
        """See `Kernel.bind_row`."""
        if self._counts_steps:
            return None
        step, y, nothing = self._make_step(s, p, Space(*self._network, s.w)), np.empty(1, s.w.dtype), s.w[:0, 0]

        def learn_row(x: Array, target: float) -> int:
            y[0] = target
            return int(step(x, y, nothing, p.step_size[0], 0))

        return learn_row
