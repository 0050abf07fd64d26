"""Real handwritten digits of 8 x 8 pixels, included in the package."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from orfit_bench.catalogue.streams.common import SEED
from orfit_bench.spec.data import Array, Data, Pair
from orfit_bench.spec.setting import Setting
from orfit_bench.spec.stream import Stream
from orfit_bench.spec.types import Choice, Integer

FILE = Path(__file__).with_name("data") / "digits.npz"
SOURCE = "E. Alpaydin, C. Kaynak, Optical Recognition of Handwritten Digits, UCI 1998 (CC BY 4.0)"

ORDER = Setting("order", Choice(("random", "class")), "random", "order of the rows; class: one task per digit, 0 first")
LEARNED = Setting("n", Integer(1, 1200), 1200, "number of images to learn")


def raw() -> Pair:
    """Images (1797, 8, 8) with pixels 0 to 16 and labels (1797,) 0 to 9, both uint8."""
    with np.load(FILE, allow_pickle=False) as file:
        return file["images"], file["labels"]


def make(n: int, order: str, seed: int) -> Data:
    """X (n, 64) pixels in [0, 1], y (n, 10) one-hot; 200 other images for validation, 397 for the test."""
    return classes(*drawn(n, seed), order)


def drawn(n: int, seed: int) -> tuple[Pair, Pair, Pair]:
    """Images (k, 64) with labels (k,): n to learn, 397 for the test, 200 for validation."""
    images, labels = raw()
    order = np.random.default_rng(seed).permutation(len(labels))
    parts = (order[:n], order[1400:], order[1200:1400])
    learned, test, validation = ((images[i].reshape(len(i), -1) / 16, labels[i].astype(int)) for i in parts)
    return learned, test, validation


def classes(learned: Pair, test: Pair, validation: Pair, order: str) -> Data:
    """Data from (X, labels) pairs: labels become one-hot rows, `order` "class" sorts the rows learned."""
    X, labels = learned
    tasks: tuple[int, ...] = ()
    if order == "class":
        X, labels, tasks = by_class(X, labels)
    return Data(X, one_hot(labels), (test[0], one_hot(test[1])), (validation[0], one_hot(validation[1])), tasks)


def by_class(X: Array, labels: Array) -> tuple[Array, Array, tuple[int, ...]]:
    """Rows and labels sorted by label (stably), and the index at which each label begins, with the end."""
    order = np.argsort(labels, kind="stable")
    starts = np.unique(labels[order], return_index=True)[1]
    return X[order], labels[order], (*(int(row) for row in starts), len(labels))


def one_hot(labels: Array) -> Array:
    """(n, 10) rows of the identity, for labels 0 to 9."""
    return np.eye(10)[labels]


DIGITS = Stream(
    "digits",
    "1,797 real digits of 8 x 8 pixels, their class one-hot",
    make,
    (LEARNED, ORDER, SEED),
    source=SOURCE,
)
