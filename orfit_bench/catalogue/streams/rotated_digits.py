"""One digit rotated by angles that grow along the stream; the angle is to be estimated.

The thesis, ch. 5, does not specify the pixel scale and the interpolation of a rotation. Here pixels are in [0, 1],
images are rotated and enlarged by linear interpolation, and pixels from outside the image are black.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from orfit_bench.catalogue.streams import digits, mnist
from orfit_bench.catalogue.streams.common import SEED, parts
from orfit_bench.catalogue.streams.mnist_files import files, read, why_absent
from orfit_bench.spec.data import Array, Data, Pair
from orfit_bench.spec.setting import Setting
from orfit_bench.spec.stream import Stream
from orfit_bench.spec.types import Integer

Turn = Callable[[Array, Array], Pair]
"""Maps images (k, h, w) and angles (k,) to rows and targets."""

SETTINGS = (
    Setting("n", Integer(1), 100, "how many images are learned; the others of that digit are held out"),
    Setting("digit", Integer(0, 9), 2, "which digit is rotated"),
)


def rotate_images(images: Array, angles: Array, order: int = 1) -> Pair:
    """Images (k, h, w) rotated counter-clockwise by angles (k,) in radians, as rows; and the angles.

    `order` is the order of the interpolating splines.
    """
    from scipy.ndimage import rotate

    pairs = zip(images, np.degrees(angles), strict=True)
    X = np.stack([rotate(image, angle, reshape=False, order=order).ravel() for image, angle in pairs])
    return X, angles


def make_digits(n: int, digit: int, seed: int, turn: Turn = rotate_images) -> Data:
    """X (n, 784) pixels in [0, 1] of one digit, enlarged from 8 x 8; y (n,) ascending angles in radians."""
    images, labels = digits.raw()
    rng = np.random.default_rng(seed)
    learned, validation, test = split(images[labels == digit] / 16, n, rng)
    return make_rotations(enlarge(learned), enlarge(validation), enlarge(test), rng, turn)


def make_mnist(n: int, digit: int, part: str, seed: int, turn: Turn = rotate_images) -> Data:
    """X (n, 784) pixels in [0, 1] of one digit, y (n,) the angles in radians, ascending.

    Part "train" is tested on every image of that digit in MNIST's test part, as in the thesis.
    """
    images, labels = read(part)
    rng = np.random.default_rng(seed)
    learned, validation, test = split(images[labels == digit], n, rng)
    if part == "train":
        images, labels = read("test")
        test = images[labels == digit]
    return make_rotations(learned / 255, validation / 255, test / 255, rng, turn)


def split(images: Array, n: int, rng: Generator) -> tuple[Array, Array, Array]:
    """n images drawn for learning; of the others, every fourth for validation and the rest for the test.

    Raises ValueError unless two images are left.
    """
    if n > len(images) - 2:
        raise ValueError(f"n={n}: want at most {len(images) - 2}, all but 2 of the {len(images)} images of this digit")
    drawn = images[rng.permutation(len(images))]
    others = np.arange(len(images) - n)
    return drawn[:n], drawn[n:][others % 4 == 0], drawn[n:][others % 4 > 0]


def make_rotations(learned: Array, validation: Array, test: Array, rng: Generator, turn: Turn) -> Data:
    """Data of images (k, 28, 28) rotated by angles uniform in [0, pi], ascending for those learned."""
    X, y = turn(learned, np.sort(rng.uniform(0, np.pi, len(learned))))
    test_pair, validation_pair = (turn(images, rng.uniform(0, np.pi, len(images))) for images in (test, validation))
    return Data(X, y, test_pair, validation_pair, parts(len(y)))


def enlarge(images: Array) -> Array:
    """(k, 28, 28) from (k, 8, 8), with a border wide enough for any rotation."""
    from scipy.ndimage import zoom

    return np.stack([zoom(np.pad(image, 2), 28 / 12, order=1) for image in images])


ROTATED_DIGITS = Stream(
    "rotated_digits",
    "one real digit rotated by growing angles, the angle to be estimated",
    make_digits,
    (*SETTINGS, SEED),
    source=f"Y. Min, MIT 2023, ch. 5 with the images of {digits.SOURCE}",
)

ROTATED_MNIST = Stream(
    "rotated_mnist",
    "one digit of MNIST rotated by growing angles, the angle to be estimated",
    make_mnist,
    (*SETTINGS, mnist.PART, SEED),
    source=f"Y. Min, MIT 2023, ch. 5 with the images of {mnist.SOURCE}",
    probe=lambda: why_absent("test"),
    files=files,
)
