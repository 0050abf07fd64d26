"""Linear regression with a random-walk drift of the true weights."""

from __future__ import annotations

import numpy as np

from orfit_bench.catalogue.streams.common import (
    HELD_OUT,
    OUTPUTS,
    SEED,
    features,
    noise,
    parts,
    rows,
    squeezed,
    true_weights,
    with_targets,
)
from orfit_bench.spec.data import Data
from orfit_bench.spec.setting import Setting
from orfit_bench.spec.stream import Stream
from orfit_bench.spec.types import Number


def make(n: int, d: int, outputs: int, drift: float, noise: float, seed: int) -> Data:
    """X (n, d) ~ N(0, I), y_t = x_t' W_t + noise, W_t a random walk of n steps; ten tasks of equal length.

    Test and validation rows follow the weights of the last row, without noise.
    """
    rng = np.random.default_rng(seed)
    walk = rng.standard_normal((n, d, outputs)) * (drift / np.sqrt(d))
    walk[0] = true_weights(d, outputs, rng)
    W = np.cumsum(walk, axis=0)
    X, test, validation = (rng.standard_normal((k, d)) for k in (n, HELD_OUT, HELD_OUT))
    y = np.einsum("td,tdc->tc", X, W) + noise * rng.standard_normal((n, outputs))
    return Data(X, squeezed(y), with_targets(test, W[-1]), with_targets(validation, W[-1]), parts(n))


DRIFT = Stream(
    "drift",
    "linear regression whose true weights follow a random walk; tested on the final weights",
    make,
    (
        rows(2000),
        features(),
        OUTPUTS,
        Setting("drift", Number(0), 0.02, "root mean square length of one step of an output's weights"),
        noise(),
        SEED,
    ),
    source="synthetic: the random-walk model under which the survey's Prop. 3 derives the Kalman filter",
)
