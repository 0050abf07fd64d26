"""Real handwritten digits for k-PCA: images without labels, centred."""

from __future__ import annotations

import numpy as np

from orfit_bench.catalogue.streams import digits
from orfit_bench.catalogue.streams.common import SEED
from orfit_bench.spec.setting import Setting
from orfit_bench.spec.stream import Array, Data, Pair, Stream


def make(n: int, seed: int) -> Data:
    """X (n, 64) pixels in [0, 1] less their mean over the n images learned; y (n, 0).

    200 other images for validation and 397 for the test, less the same mean: what is centred knows no held-out row.
    """
    images, _ = digits.raw()
    drawn = np.random.default_rng(seed).permutation(len(images))
    learned, validation, test = (
        images[i].reshape(len(i), -1) / 16 for i in (drawn[:n], drawn[1200:1400], drawn[1400:])
    )
    mean = learned.mean(axis=0)
    X, y = unlabelled(learned - mean)
    return Data(X, y, unlabelled(test - mean), unlabelled(validation - mean))


def unlabelled(X: Array) -> Pair:
    """X with targets of no columns."""
    return X, np.empty((len(X), 0))


DIGITS_PCA = Stream(
    "digits_pca",
    "1,797 real digits of 8 x 8 pixels without labels, centred by the mean of those learned",
    make,
    (Setting("n", "integer", 1200, "[1, 1200]", "how many images are learned"), SEED),
    source=digits.SOURCE,
)
