"""Linear regression on independent Gaussian rows."""

from __future__ import annotations

import numpy as np

from orfit_bench.catalogue.streams.common import OUTPUTS, SEED, features, linear, noise, rows
from orfit_bench.spec.data import Data
from orfit_bench.spec.stream import Stream


def make(n: int, d: int, outputs: int, noise: float, seed: int) -> Data:
    """X (n, d) ~ N(0, I) and y = X W + noise. Test and validation rows have the same distribution and no noise."""
    rng = np.random.default_rng(seed)
    return linear(lambda k: rng.standard_normal((k, d)), d, n, outputs, noise, rng)


REGRESSION = Stream(
    "regression",
    "linear regression on independent Gaussian rows",
    make,
    (rows(), features(), OUTPUTS, noise(), SEED),
    source="synthetic: the slides' linear model with Gaussian rows",
)
