"""MNIST: handwritten digits of 28 x 28 pixels, from a local folder or downloaded once."""

from __future__ import annotations

import numpy as np

from orfit_bench.catalogue.streams.common import SEED
from orfit_bench.catalogue.streams.digits import ORDER, classes
from orfit_bench.catalogue.streams.mnist_files import files, read, why_absent
from orfit_bench.spec.data import Data, Pair
from orfit_bench.spec.setting import Setting
from orfit_bench.spec.stream import Stream
from orfit_bench.spec.types import Choice, Integer

SOURCE = "Y. LeCun, C. Cortes, C. J. C. Burges, The MNIST database of handwritten digits, 1998"

PART = Setting(
    "part",
    Choice(("train", "test")),
    "test",
    "which images are learned: train (60,000; tested on the others) or test (10,000; the smaller download, "
    "split into images learned and images tested on)",
)


def make(n: int, part: str, order: str, seed: int) -> Data:
    """X (n, 784) pixels in [0, 1], y (n, 10) one-hot.

    A tenth of the part is for validation. Of part "test" another tenth is the test set; part "train" is
    tested on all of part "test". Raises ValueError if n exceeds the number of remaining images.
    """
    images, labels = read(part)
    rows = np.random.default_rng(seed).permutation(len(labels))
    validation, test, rest = np.split(rows, [tenth := len(rows) // 10, 2 * tenth])
    if part == "train":
        rest = np.concatenate([test, rest])
    if n > len(rest):
        raise ValueError(
            f"n={n}: want at most {len(rest)}, for part {part!r} of MNIST has no more rows that are not held out"
        )
    held_out = read("test") if part == "train" else (images[test], labels[test])
    learned, chosen = ((images[i], labels[i]) for i in (rest[:n], validation))
    return classes(pixels(learned), pixels(held_out), pixels(chosen), order)


def pixels(pair: Pair) -> Pair:
    """Images as rows (k, 784) in [0, 1], with their labels."""
    images, labels = pair
    return images.reshape(len(images), -1) / 255, labels


MNIST = Stream(
    "mnist",
    "real digits of 28 x 28 pixels, their class one-hot",
    make,
    (
        Setting("n", Integer(1, 54000), 2000, "how many images are learned; at most 8,000 of part test"),
        PART,
        ORDER,
        SEED,
    ),
    source=SOURCE,
    probe=lambda: why_absent("test"),
    files=files,
)
