"""System identification: rows are the contents of a tapped delay line, the weights an impulse response."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.random import Generator

from orfit_bench.catalogue.streams.common import OUTPUTS, SEED, features, linear, noise, rows
from orfit_bench.spec.data import Array, Data
from orfit_bench.spec.stream import Stream


def make(n: int, d: int, outputs: int, noise: float, seed: int) -> Data:
    """X (n, d) with rows (u_t, u_{t-1}, ..., u_{t-d+1}) of a white Gaussian input u, y = X W + noise.

    The line is full at the first row. Test and validation rows come from new inputs, without noise.
    """
    rng = np.random.default_rng(seed)
    return linear(lambda k: taps(k, d, rng), d, n, outputs, noise, rng)


def taps(n: int, d: int, rng: Generator) -> Array:
    """(n, d) the contents of the line at n consecutive times, newest input first."""
    u = rng.standard_normal(n + d - 1)
    return np.ascontiguousarray(sliding_window_view(u, d)[:, ::-1])


DELAY_LINE = Stream(
    "delay_line",
    "system identification with a tapped delay line",
    make,
    (rows(2000), features(32), OUTPUTS, noise(), SEED),
    source="synthetic: A. H. Sayed, Fundamentals of Adaptive Filtering, 2003",
)
