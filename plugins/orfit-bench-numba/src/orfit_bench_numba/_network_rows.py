"""Code shared by the rules for rows of a network: its shape, work space and predictions (see `Kernel.for_network`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench_numba._arrays import Array, Indices
from orfit_bench_numba._compile import compiled
from orfit_bench_numba._finite import is_finite
from orfit_bench_numba._network import propagate, propagate_back, shape_of, work_sizes

MANY_ROWS = 16
"""With at least this many rows, BLAS products and NumPy functions predict faster."""


class NetworkRows:
    """A network with d features and c outputs; few rows are predicted by compiled functions."""

    def __init__(self, network: Any, d: int, c: int) -> None:
        self.shape = shape_of(network, d, c)
        self._predict_many, self._sizes = network.predict, work_sizes(self.shape)

    def predict(self, w: Array, X: Array) -> Array:
        """The outputs (n, c) at the weights w (p, 1)."""
        if len(X) >= MANY_ROWS and self.shape.widths[-1]:  # a learner of labels has no outputs before the first label
            found: Array = self._predict_many(w[:, 0], X)
            return found
        enter, weights, a, z = propagate_row.entry_point(w.dtype), w[:, 0], *self.allocate(w.dtype)
        outputs = np.empty((len(X), self.shape.widths[-1]), w.dtype)
        for x, out in zip(X, outputs, strict=True):
            enter(weights, x, z[:0], *self.shape, a, z, out)
        return outputs

    def allocate(self, dtype: np.dtype[Any]) -> tuple[Array, Array]:
        """Allocate the work space a and z, see `_network`."""
        inputs, sums = self._sizes
        return np.empty(inputs, dtype), np.empty(sums, dtype)


@compiled("w r r I i i w w w")
def propagate_row(
    w: Array, x: Array, y: Array, widths: Indices, activation: int, bias: int, a: Array, z: Array, out: Array
) -> Any:
    """Fill a and z for row x and, with targets y, the errors at all sums; write the outputs to out, (c,) or (0,).

    Returns whether the errors of y are finite; without y, whether a is finite.
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
    return is_finite(a)
