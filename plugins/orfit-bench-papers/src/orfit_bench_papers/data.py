"""The real data of the experiments: the bundled digits, and MNIST and CIFAR-10 if the user has them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from orfit_bench.catalogue.streams import digits, mnist_files, rotated_digits
from orfit_bench.spec.data import Array, Data

PARTS = ("train", "test")
BATCHES = (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin")
"""Files of the binary version of CIFAR-10: records of one label and 3 x 32 x 32 pixels, all bytes."""
RECORD = 1 + 3 * 32 * 32


def why_absent(name: str) -> str:
    """Why a data set is not available, or an empty string; checks only the disk."""
    if name == "mnist":
        return mnist_files.why_absent("test")
    if name == "cifar10" and not _cifar10():
        return (
            "CIFAR-10 is not here: let ORFIT_BENCH_DATA name a folder that holds the binary version in cifar10/, as "
            f"{', '.join(BATCHES)}"
        )
    return ""


def files(name: str) -> list[Path]:
    """The user's files from which the rows are made."""
    return {"mnist": mnist_files.files, "cifar10": _cifar10}.get(name, list[Path])()


def described(name: str) -> str:
    """A short description of the rows."""
    if name == "mnist":
        here = " and ".join(_mnist_parts())
        return f"MNIST, the images at hand: {here} part; pixels in [0, 1]"
    if name == "cifar10":
        return "CIFAR-10, all 60,000 images of 32 x 32 pixels in three colours, in [0, 1]"
    return "1,797 real digits of 8 x 8 pixels, which come with the package; pixels in [0, 1]"


def rotated(
    name: str, n: int, seed: int, turn: rotated_digits.Turn = rotated_digits.rotate_images, *, validation: bool = False
) -> Data:
    """Rotated images of the digit 2, ordered by angle: see the streams rotated_digits and rotated_mnist.

    If the training part of MNIST is available, it is learned, and every digit 2 of the test part is tested, as in the
    thesis; otherwise both sets come from the test part. Without `validation`, the validation images of the streams are
    also tested, unless they belong to the training part.
    """
    if name == "mnist":
        found = rotated_digits.make_mnist(n, 2, _mnist_parts()[0], seed, turn)
    else:
        found = rotated_digits.make_digits(n, 2, seed, turn)
    if validation:
        return found
    separate = name == "mnist" and _mnist_parts()[0] == "train"
    held_out = [pair for pair in (found.test, None if separate else found.validation) if pair]
    X, y = (np.concatenate(both) for both in ([X for X, _ in held_out], [np.asarray(y) for _, y in held_out]))
    return replace(found, test=(X, y), validation=None)


def origin(name: str) -> str:
    """Where the learned and the tested images of the digit 2 come from."""
    if name != "mnist":
        return "both drawn from the same images of 8 x 8 pixels, padded and enlarged to 28 x 28 by linear interpolation"
    if _mnist_parts()[0] == "train":
        return "learned from MNIST's training part and tested on its test part, as in the thesis"
    return "both drawn from MNIST's test part, the only one at hand; the thesis learns from the training part"


def centred(name: str) -> Array:
    """All available images as rows (n, d) of pixels in [0, 1], minus their mean."""
    images = {"digits": _digits, "mnist": _mnist, "cifar10": _cifar10_pixels}[name]()
    return np.asarray(images - images.mean(axis=0))


def _digits() -> Array:
    images, _ = digits.raw()
    return images.reshape(len(images), -1) / 16


def _mnist() -> Array:
    images = np.concatenate([mnist_files.read(part)[0] for part in _mnist_parts()])
    return images.reshape(len(images), -1) / 255


def _mnist_parts() -> list[str]:
    return [part for part in PARTS if not mnist_files.why_absent(part)]


def _cifar10() -> list[Path]:
    """The files, or an empty list if one of them is missing."""
    folder = Path(os.environ.get("ORFIT_BENCH_DATA", "")).expanduser() / "cifar10"
    files = [folder / name for name in BATCHES]
    return files if os.environ.get("ORFIT_BENCH_DATA") and all(file.is_file() for file in files) else []


def _cifar10_pixels() -> Array:
    parts = []
    for file in _cifar10():
        bytes_ = np.fromfile(file, np.uint8)
        if not len(bytes_) or len(bytes_) % RECORD:
            raise ValueError(f"{file} is damaged ({len(bytes_)} bytes, want a multiple of {RECORD}): replace it")
        parts.append(bytes_.reshape(-1, RECORD)[:, 1:])
    return np.concatenate(parts) / 255
