"""Real handwritten digits of 8 x 8 pixels, which come with the package."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from orfit_bench.catalogue.streams.common import SEED
from orfit_bench.spec.setting import Setting
from orfit_bench.spec.stream import Array, Data, Pair, Stream

FILE = Path(__file__).with_name("data") / "digits.npz"
SOURCE = "E. Alpaydin, C. Kaynak, Optical Recognition of Handwritten Digits, UCI 1998 (CC BY 4.0)"

ORDER = Setting("order", "choice", "random", "random|class", "how rows are ordered; class: one task a digit, 0 first")


def raw() -> Pair:
    """Images (1797, 8, 8) with pixels 0 to 16 and labels (1797,) 0 to 9, both uint8."""
    with np.load(FILE, allow_pickle=False) as file:
        return file["images"], file["labels"]


def make(n: int, order: str, seed: int) -> Data:
    """X (n, 64) pixels in [0, 1], y (n, 10) one-hot; 200 other images for validation, 397 for the test."""
    images, labels = raw()
    drawn = np.random.default_rng(seed).permutation(len(labels))
    X, validation, test = (
        (images[i].reshape(len(i), -1) / 16, labels[i]) for i in (drawn[:n], drawn[1200:1400], drawn[1400:])
    )
    return classes(X, test, validation, order)


def classes(learned: Pair, test: Pair, validation: Pair, order: str) -> Data:
    """Data from (X, labels) pairs: labels become one-hot rows, `order` "class" sorts the rows learned."""
    X, labels = learned
    tasks: tuple[int, ...] = ()
    if order == "class":
        by_class = np.argsort(labels, kind="stable")
        X, labels = X[by_class], labels[by_class]
        starts = np.unique(labels, return_index=True)[1]
        tasks = (*(int(row) for row in starts), len(labels))
    return Data(X, one_hot(labels), (test[0], one_hot(test[1])), (validation[0], one_hot(validation[1])), tasks)


def one_hot(labels: Array) -> Array:
    """(n, 10) rows of the identity, for labels 0 to 9."""
    return np.eye(10)[labels]


DIGITS = Stream(
    "digits",
    "1,797 real digits of 8 x 8 pixels, their class one-hot",
    make,
    (Setting("n", "integer", 1200, "[1, 1200]", "how many images are learned"), ORDER, SEED),
    source=SOURCE,
)
