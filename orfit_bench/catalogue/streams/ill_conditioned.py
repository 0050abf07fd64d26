"""Linear regression on rows of a chosen condition number."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

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
from orfit_bench.spec.data import Array, Data
from orfit_bench.spec.setting import Setting
from orfit_bench.spec.stream import Stream
from orfit_bench.spec.types import Number


def make(n: int, d: int, condition: float, outputs: int, noise: float, seed: int) -> Data:
    """X (n, d) with cond(X) = condition and y = X W + noise.

    X = sqrt(n) U diag(s) V', U and V orthonormal, s falling from 1 to 1/condition in equal ratios; a single
    row or feature has one singular value, hence condition number 1. Test and validation rows are Gaussian
    with the second moment V diag(s^2) V' of X, without noise.
    """
    rng = np.random.default_rng(seed)
    k = min(n, d)
    U, V = orthonormal(n, k, rng), orthonormal(d, k, rng)
    root = np.geomspace(1.0, 1.0 / condition, k)[:, None] * V.T
    W = true_weights(d, outputs, rng)
    test, validation = (rng.standard_normal((HELD_OUT, k)) @ root for _ in range(2))
    X = np.sqrt(n) * (U @ root)
    return Data(*with_targets(X, W, noise, rng), with_targets(test, W), with_targets(validation, W))


def orthonormal(n: int, k: int, rng: Generator) -> Array:
    """(n, k) orthonormal columns that span a random subspace."""
    return np.linalg.qr(rng.standard_normal((n, k)))[0]


ILL_CONDITIONED = Stream(
    "ill_conditioned",
    "linear regression on rows of a chosen condition number",
    make,
    (
        rows(),
        features(),
        Setting("condition", Number(1, 1e15), 1e6, "largest over smallest singular value of X"),
        OUTPUTS,
        noise(1e-3),
        SEED,
    ),
    source="synthetic: a product of random orthonormal factors and chosen singular values",
)
