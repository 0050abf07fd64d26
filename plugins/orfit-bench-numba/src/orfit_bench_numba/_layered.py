"""Code shared by gp and owm: methods with an array for each layer of a network, row by row.

Compiled functions get one layer at a time, since the number of arrays would be part of the type of their arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.kernels.layers import layer_matrices
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numba._arrays import Array, BoundRow, Scalar
from orfit_bench_numba._compile import compiled
from orfit_bench_numba._finite import is_finite
from orfit_bench_numba._network_rows import NetworkRows, propagate_row


class Layer(NamedTuple):
    """A layer of n inputs and m outputs: views of the weights and of work space that each row fills anew."""

    Theta: Array
    """(n, m), the weights in the state."""
    changed: Array
    """(n, m), work space for the new Theta."""
    a: Array
    """(n,), the input of the layer."""
    e: Array
    """(m,), the errors at the layer's outputs: Delta = a e' is its gradient step."""


class Space:
    """Work space for the rows of a network in a state with the weights w (p, 1)."""

    def __init__(self, rows: NetworkRows, w: Array) -> None:
        inputs, sums = rows.allocate(w.dtype)
        shapes = tuple(zip(rows.shape.widths[:-1] + rows.shape.bias, rows.shape.widths[1:], strict=True))
        changed = np.empty_like(w)
        ends = [np.cumsum([pair[k] for pair in shapes])[:-1] for k in (0, 1)]
        parts = layer_matrices(w, shapes), layer_matrices(changed, shapes), *map(np.split, (inputs, sums), ends)
        self.layers = [Layer(*views) for views in zip(*parts, strict=True)]
        self._weights, self._changed, self._nothing = w[:, 0], changed[:, 0], inputs[:0]
        self._network = *rows.shape, inputs, sums
        self._propagate, self._exchange = propagate_row.entry_point(w.dtype), exchange_finite.entry_point(w.dtype)

    def propagate(self, x: Array, y: Array, out: Array) -> bool:
        """Fill a and e of all layers, and out with the outputs; return False if an error is not finite."""
        return bool(self._propagate(self._weights, x, y, *self._network, out))

    def take_in(self, x: Array) -> bool:
        """Fill a of all layers at the current weights; return whether all are finite."""
        return bool(self._propagate(self._weights, x, self._nothing, *self._network, self._nothing))

    def accept(self) -> bool:
        """Exchange the weights and `changed`; if `changed` is not finite, change nothing and return False."""
        return bool(self._exchange(self._weights, self._changed))

    def undo(self) -> None:
        """Restore the weights before `accept`."""
        self._exchange(self._weights, self._changed)


@compiled("W W r r f")
def move_layer(Theta: Array, changed: Array, r: Array, e: Array, rate: Scalar) -> None:
    """Compute changed <- Theta + rate r e'."""
    for j in range(len(r)):
        share = rate * r[j]
        for i in range(len(e)):
            changed[j, i] = Theta[j, i] + share * e[i]


@compiled("w w")
def exchange_finite(w: Array, changed: Array) -> Any:
    """Exchange w and `changed` if `changed` is finite; returns whether it is."""
    if not is_finite(changed):
        return False
    for j in range(len(w)):
        w[j], changed[j] = changed[j], w[j]
    return True


Step = Callable[[Array, Array, Array, float, int], bool]
"""step(x, y, out, size, t) learns row x with targets y (c,) in step t with this size; False if it is refused.

The prediction before the step is written to out, (c,) or (0,).
"""


class LayeredRows(NetworkRows):
    """Learns rows of a network with d features and c outputs; `make_step(s, p, space)` makes the `Step` of a method.

    `counts_steps` says whether a step depends on its number.
    """

    def __init__(
        self, network: Any, d: int, c: int, make_step: Callable[[Any, Any, Space], Step], counts_steps: bool = False
    ) -> None:
        super().__init__(network, d, c)
        self._make_step, self._counts_steps = make_step, counts_steps

    def learn(self, s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
        """Learn rows, each in one step."""
        step, nothing = self._make_step(s, p, Space(self, s.w)), np.empty(0, X.dtype)
        for i in range(len(X)):
            if not step(X[i], Y[i], nothing if out is None else out[i], p.step_size[i], p.t + i):
                return i
        return len(X)

    def bind_row(self, s: State, p: Params) -> BoundRow | None:
        """See `Kernel.bind_row`."""
        if self._counts_steps:
            return None
        step, y, nothing = self._make_step(s, p, Space(self, s.w)), np.empty(1, s.w.dtype), s.w[:0, 0]

        def learn_row(x: Array, target: float) -> int:
            y[0] = target
            return int(step(x, y, nothing, p.step_size[0], 0))

        return learn_row
