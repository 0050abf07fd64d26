"""Blocks of rows of recursive least squares, learned one after another on the device without a wait between them.

See `_block_rls` for the equations. All blocks of a call are enqueued, and each gets a verdict on the device. A block
that is refused does not change P or w, and neither do the blocks after it. The host reads the verdicts once, after the
last block. A row takes 3 d^2 + 6 b d flops.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orfit_bench.kernels.guards import DEGRADED, REFUSED, Limits
from orfit_bench_cupy._block_kernels import BlockKernels
from orfit_bench_cupy._libraries import multiply_by_transpose, solve_lower
from orfit_bench_cupy._transfers import Array, Host, fetch


class DeviceBlocks:
    """The rows of a call on the device, with the data that all blocks need.

    Parameters
    ----------
    P, w : Array
        Fields of the state, (d, d) and (d, r), changed in place.
    X, Y : Array
        Rows (n, d) and targets (n, r); NaN marks a missing target.
    noise : Host
        The noise variance of each row (n,).
    limits : Limits
        When a row is refused.
    out : Array or None
        Array for the predictions (n, r).
    size : int
        Largest number of rows of a block.
    """

    def __init__(
        self, P: Array, w: Array, X: Array, Y: Array, noise: Host, limits: Limits, out: Array | None, size: int
    ) -> None:
        self._xp = xp = X.__array_namespace__()
        self._P, self._w, self._out, self._limits = P, w, out, limits
        self._X, self._Y = xp.ascontiguousarray(X), xp.ascontiguousarray(Y)
        self._gaps = xp.isnan(self._Y).any(axis=1)
        power = limits.ff ** np.arange(size, dtype=X.dtype)
        numbers = xp.asarray(np.concatenate([noise, power]).astype(X.dtype))
        self._noise, self._power = numbers[: len(X)], numbers[len(X) :]
        self._kernels = BlockKernels(xp, np.dtype(X.dtype))

    def learn(self, parts: Sequence[slice]) -> tuple[int, bool]:
        """Learn blocks until one is refused; returns how many were learned, and whether half of the digits are lost."""
        verdicts = self._xp.zeros(len(parts), dtype="int64")
        for block, part in enumerate(parts):
            self._enqueue(part, verdicts, block)
        (found,) = fetch(verdicts)
        learned = int(np.argmin(np.append(found, REFUSED) != REFUSED))
        return learned, bool((found[:learned] == DEGRADED).any())

    def _enqueue(self, part: slice, verdicts: Array, block: int) -> None:
        """Start the computations of a block."""
        xp, P, w, X, Y = self._xp, self._P, self._w, self._X[part], self._Y[part]
        (b, d), r, kernels = X.shape, w.shape[1], self._kernels
        rows = self._noise[part], self._power[:b], self._gaps[part]
        right, K, F = xp.empty((d + r, b), dtype=X.dtype), xp.empty((b, b), dtype=X.dtype), X @ w
        U = xp.matmul(P, X.T, out=right[:d])
        kernels.prepare_rows(X @ U, F, Y, *rows, K, right)
        L, fits = factor(K, kernels)
        right = solve_lower(L, right)
        V, Z = right[:d], right[d:]
        move = V @ Z.T
        measured = kernels.measure_features(X, P, w, right, move)
        out = None if self._out is None else self._out[part]
        if out is not None:
            kernels.predict_rows(F, X @ V, right, out)
        kernels.judge_block((L, fits, measured, right), rows, out, verdicts, block, r, self._limits)
        kernels.apply_block(P, w, multiply_by_transpose(V), move, verdicts, block, self._limits.ff**b)


def factor(K: Array, kernels: BlockKernels) -> tuple[Array, Array]:
    """The lower triangular L (b, b) with L L' = K, and for each row 1 if this holds to rounding, otherwise 0.

    If K is not positive definite, CuPy does not raise an error or return the status of cuSOLVER, and the factor is
    undefined, not necessarily NaN. But any lower triangular L with a positive diagonal and L L' = K to rounding is the
    factor. Therefore the product is compared, and `judge_block` checks the diagonal.
    """
    xp = K.__array_namespace__()
    L, fits = xp.linalg.cholesky(K), xp.empty(len(K), dtype=K.dtype)
    kernels.compare_factor(K, L @ L.T, fits)
    return L, fits
