"""Rows of a network, learned by the `update` of a kernel with compiled gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numba._arrays import Array, Indices
from orfit_bench_numba._compile import compiled
from orfit_bench_numba._finite import is_finite
from orfit_bench_numba._network import propagate, propagate_back, write_gradient
from orfit_bench_numba._network_rows import NetworkRows

Update = Callable[[Any, Array, Array, Any], bool]
Store = Callable[[Any, Array, Any], None]


def by_gradients(update: Update, store: Store | None = None) -> Callable[[Any, int, int, Any], GradientRows]:
    """Make `for_network` of a kernel from these functions."""
    return lambda network, d, c, settings: GradientRows(network, d, c, update, store)


class GradientRows(NetworkRows):
    """Learns rows of a network with `update(s, J, E, p)`, and stores gradients with `store(s, J, p)`."""

    def __init__(self, network: Any, d: int, c: int, update: Update, store: Store | None) -> None:
        super().__init__(network, d, c)
        self._update, self._store = update, store

    def learn(self, s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
        """Learn rows, each in one step with its gradients J (c, p) and errors E (c, 1)."""
        dtype, c = X.dtype, Y.shape[1]
        J, E, nothing = np.empty((c, len(s.w)), dtype), np.empty((c, 1), dtype), np.empty(0, dtype)
        space, linearize = (*self.allocate(dtype), np.empty(self._sizes[1], dtype)), linearize_row.entry_point(dtype)
        weights, errors, before = s.w[:, 0], E[:, 0], np.empty_like(s.w)
        for i in range(len(X)):
            here = p if len(X) == 1 else p.at(i)
            predictions = nothing if out is None else out[i]
            if not linearize(weights, X[i], Y[i], *self.shape, space, J, errors, predictions):
                return i
            if self._store:
                before[...] = s.w
            if not self._update(s, J, E, here):
                return i
            if self._store:
                linearize(weights, X[i], Y[i], *self.shape, space, J, errors, nothing)
                if not np.isfinite(J).all():
                    s.w[...] = before
                    return i
                self._store(s, J, here)
        return len(X)


@compiled("w r r I i i (w w w) W w w")
def linearize_row(
    w: Array,
    x: Array,
    y: Array,
    widths: Indices,
    activation: int,
    bias: int,
    space: tuple[Array, Array, Array],
    J: Array,
    e: Array,
    out: Array,
) -> Any:
    """Compute the gradients J (c, p) of the outputs for row x, and e <- y - f; returns whether both are finite.

    space has room for a and z (see `_network`), and for a second z. The outputs f are written to out, (c,) or (0,).
    """
    a, z, slopes = space
    propagate(w, x, widths, activation, bias, a, slopes)
    c, finite = len(y), True
    first = len(z) - c
    for k in range(c):
        e[k] = y[k] - slopes[first + k]
    for k in range(len(out)):
        out[k] = slopes[first + k]
    for k in range(c):
        for j in range(len(z)):
            z[j] = slopes[j] if j < first else 0
        z[first + k] = 1
        propagate_back(w, widths, bias, z)
        write_gradient(J[k], widths, bias, a, z)
        finite &= is_finite(J[k])
    return finite and is_finite(e)
