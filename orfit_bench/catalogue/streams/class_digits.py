"""Digits sorted by class, so that a learner can forget earlier classes."""

from __future__ import annotations

from orfit_bench.catalogue.streams.common import SEED
from orfit_bench.catalogue.streams.digits import LEARNED, SOURCE, by_class, drawn
from orfit_bench.spec.data import Data
from orfit_bench.spec.stream import Stream


def make(n: int, seed: int) -> Data:
    """X (n, 64) pixels in [0, 1], y (n,) labels 0 to 9, one task per digit; tested on 397 images of all digits."""
    learned, test, validation = drawn(n, seed)
    X, labels, tasks = by_class(*learned)
    return Data(X, labels, test, validation, tasks)


CLASS_DIGITS = Stream(
    "class_digits",
    "1,797 real digits of 8 x 8 pixels, sorted by class",
    make,
    (LEARNED, SEED),
    source=SOURCE,
    offers="labels",
)
