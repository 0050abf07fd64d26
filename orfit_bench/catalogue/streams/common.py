"""Common parts of streams: settings, true models, task boundaries."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from orfit_bench.spec.data import Array, Data, Pair
from orfit_bench.spec.setting import Setting
from orfit_bench.spec.types import Integer, Number

HELD_OUT = 500
"""Number of rows of a synthetic test set, and of a validation set."""

SEED = Setting("seed", Integer(0), 0, "seed of the random numbers")
OUTPUTS = Setting("outputs", Integer(1), 1, "number of outputs c; y is (n,) for 1 output, else (n, c)")


def rows(default: int = 1000) -> Setting:
    """The setting `n`."""
    return Setting("n", Integer(1), default, "number of rows")


def features(default: int = 16) -> Setting:
    """The setting `d`."""
    return Setting("d", Integer(1), default, "number of features")


def noise(default: float = 0.1) -> Setting:
    """The setting `noise`."""
    return Setting("noise", Number(0), default, "standard deviation of the noise on the targets learned")


def true_weights(d: int, outputs: int, rng: Generator) -> Array:
    """(d, outputs) Gaussian weights: targets have unit variance if the features do."""
    return np.asarray(rng.standard_normal((d, outputs)) / np.sqrt(d))


def with_targets(X: Array, W: Array, noise: float = 0.0, rng: Generator | None = None) -> Pair:
    """X with y = X W, plus Gaussian noise if a generator is given: (n,) for one output, else (n, c)."""
    y = X @ W
    if rng is not None:
        y = y + noise * rng.standard_normal(y.shape)
    return X, squeezed(y)


def linear(draw: Callable[[int], Array], d: int, n: int, outputs: int, noise: float, rng: Generator) -> Data:
    """y = X W + noise on rows X = draw(n); test and validation rows are drawn in the same way, without noise."""
    W = true_weights(d, outputs, rng)
    X, test, validation = (draw(k) for k in (n, HELD_OUT, HELD_OUT))
    return Data(*with_targets(X, W, noise, rng), with_targets(test, W), with_targets(validation, W))


def squeezed(y: Array) -> Array:
    """y as (n,) if it has one column, else unchanged."""
    return y[:, 0].copy() if y.shape[1] == 1 else y


def parts(n: int, wanted: int = 10) -> tuple[int, ...]:
    """Boundaries that cut n rows into `wanted` nearly equal tasks, or into n tasks if there are fewer rows."""
    k = min(wanted, n)
    return tuple(n * i // k for i in range(k + 1))
