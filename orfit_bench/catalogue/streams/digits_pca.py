"""Real handwritten digits for k-PCA: images without labels, centred."""

from __future__ import annotations

from orfit_bench.catalogue.streams.common import SEED
from orfit_bench.catalogue.streams.digits import LEARNED, SOURCE, drawn
from orfit_bench.spec.data import Data
from orfit_bench.spec.stream import Stream


def make(n: int, seed: int) -> Data:
    """X (n, 64) pixels in [0, 1] minus their mean over the n images learned, without y.

    200 other images for validation and 397 for the test, minus the same mean, which does not depend on held-out rows.
    """
    learned, test, validation = (X for X, _ in drawn(n, seed))
    mean = learned.mean(axis=0)
    return Data(learned - mean, None, (test - mean, None), (validation - mean, None))


DIGITS_PCA = Stream(
    "digits_pca",
    "1,797 real digits of 8 x 8 pixels without labels, centred by the mean of the learned images",
    make,
    (LEARNED, SEED),
    source=SOURCE,
    offers="rows",
)
