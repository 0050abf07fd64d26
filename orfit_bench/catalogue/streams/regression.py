"""Linear regression on independent Gaussian rows: the plainest stream there is."""

from __future__ import annotations

import numpy as np

from orfit_bench.catalogue.streams.common import (
    HELD_OUT,
    OUTPUTS,
    SEED,
    features,
    noise,
    rows,
    true_weights,
    with_targets,
)
from orfit_bench.spec.stream import Data, Stream


def make(n: int, d: int, outputs: int, noise: float, seed: int) -> Data:
    """X (n, d) ~ N(0, I) and y = X W + noise. Test and validation rows have the same law and no noise."""
    rng = np.random.default_rng(seed)
    W = true_weights(d, outputs, rng)
    X, test, validation = (rng.standard_normal((k, d)) for k in (n, HELD_OUT, HELD_OUT))
    return Data(*with_targets(X, W, noise, rng), with_targets(test, W), with_targets(validation, W))


REGRESSION = Stream(
    "regression",
    "linear regression on independent Gaussian rows",
    make,
    (rows(), features(), OUTPUTS, noise(), SEED),
    source="synthetic: the slides' linear model with Gaussian rows",
)
