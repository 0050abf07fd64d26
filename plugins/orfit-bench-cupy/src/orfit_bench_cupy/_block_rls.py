"""Recursive least squares for a block of rows at once, by matrix products on the device.

For b rows X with noises R_j and forgetting factor ff let r_j = ff^j R_j, X P X' + diag(r) = L L' and V = L^-1 X P.
In exact arithmetic, learning row after row gives P = ff^-b (P - V'V) and w + V'z with z = L^-1 (y - X w). Row j was
predicted as y_j - L_jj z_j, had variance s_j = L_jj^2 / ff^j, and was learned with the covariance
ff^-j (P - V'V of the rows before it). Thus all reasons to refuse a row are known before anything is written. A block
with such a row is learned in host memory, and so are blocks with few features: on the device they are not faster, and
lose digits that row-by-row learning keeps if P shrinks a lot. `_device_blocks` learns all others.
"""

from __future__ import annotations

import math
from typing import Any

from orfit_bench.kernels.guards import NO_LIMITS, Limits
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_cupy._device_blocks import DeviceBlocks
from orfit_bench_cupy._transfers import Array, Host, learn_rows_on_host

MIN_FEATURES = 400
"""With fewer features, the Numba kernel learns the rows in host memory."""
ROWS, MOST = 128, 4
"""The largest number of rows of a block is ROWS per FEATURES, at least ROWS and at most MOST x ROWS.

In a larger block a row takes less time.
"""
FEATURES = 512


def learn_rows(
    s: State,
    P: Array,
    w: Array,
    X: Array,
    Y: Array,
    noise: Host,
    p: Params,
    out: Array | None,
    kernel: Any,
    limits: Limits = NO_LIMITS,
) -> int:
    """Learn rows with these noises; returns how many were learned.

    P and w belong to the state s. A block with a row that might be refused is learned by `kernel`, the Numba kernel,
    with the parameters p. The host waits once for all earlier blocks. Then only one block is enqueued, and twice as
    many each time all of them are learned, so that many refused blocks do not cost much more than one block each.
    """
    if len(P) < MIN_FEATURES:
        return learn_on_host(s, X, Y, noise, p, out, kernel) if len(X) else 0
    size = block_size(len(P), limits.ff)
    parts = [slice(i, i + size) for i in range(0, len(X), size)]
    blocks, done, ahead = DeviceBlocks(P, w, X, Y, noise, limits, out, size), 0, len(parts)
    while done < len(parts):
        enqueued = parts[done : done + ahead]
        learned, degraded = blocks.learn(enqueued)
        done, ahead = done + learned, 2 * ahead
        if degraded:
            s.precision_lost[...] = 1
        if learned == len(enqueued):
            continue
        part = parts[done]
        count = learn_on_host(s, X[part], Y[part], noise[part], p, None if out is None else out[part], kernel)
        if count < len(X[part]):
            return part.start + count
        done, ahead = done + 1, 1
    return len(X)


def block_size(d: int, ff: float) -> int:
    """The largest number of rows of a block, within which forgetting can cost one digit."""
    most = ROWS * min(max(d // FEATURES, 1), MOST)
    return most if ff == 1 else max(1, min(most, int(math.log(10) / abs(math.log(ff)))))


def learn_on_host(s: State, X: Array, Y: Array, noise: Host, p: Params, out: Array | None, kernel: Any) -> int:
    """Learn the rows by the Numba kernel in host memory."""
    if hasattr(p, "observation_noise"):  # only for these rows
        p = p._replace(observation_noise=noise)
    return int(learn_rows_on_host(kernel.learn, s, X, Y, p, out))
