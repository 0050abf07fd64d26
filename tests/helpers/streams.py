"""Helpers for tests of streams: a small MNIST on disk, and assertions about the data of every stream."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np

from orfit_bench.catalogue.streams import STREAMS
from orfit_bench.spec.data import Array, Data

BY_NAME = {stream.name: stream for stream in STREAMS}


def write_idx(path: Path, values: Array) -> None:
    """A gzipped idx file of bytes, as MNIST is published."""
    header = np.array([0x800 + values.ndim, *values.shape], ">i4").tobytes()
    path.write_bytes(gzip.compress(header + values.astype(np.uint8).tobytes()))


def write_part(folder: Path, prefix: str, count: int, seed: int) -> None:
    """Random images, no two alike, with labels 0 to 9 in turn."""
    images = np.random.default_rng(seed).integers(0, 256, (count, 28, 28))
    write_idx(folder / f"{prefix}-images-idx3-ubyte.gz", images)
    write_idx(folder / f"{prefix}-labels-idx1-ubyte.gz", np.arange(count) % 10)


def pairs(data: Data) -> list[Any]:
    """X and y of the learned rows, of the test set and of the validation part, if they exist."""
    return [pair for pair in ((data.X, data.y), data.test, data.validation) if pair is not None]


def arrays(data: Data) -> list[Array]:
    """All arrays of the data, each X before its y, if it has one."""
    return [a for pair in pairs(data) for a in pair if a is not None]


def assert_sound(data: Data) -> None:
    """Assert that pairs match, numbers are finite, rows are float64, labels integers, and tasks cover the rows."""
    for X, y in pairs(data):
        assert len(X) > 0
        assert X.shape[1:] == data.X.shape[1:]
        assert X.dtype == np.float64
        assert (y is None) == (data.y is None)
        if y is not None:
            assert len(X) == len(y)
            assert y.shape[1:] == data.y.shape[1:]  # type: ignore[union-attr]
            assert y.dtype == np.float64 or (y.ndim == 1 and y.dtype == np.int64)
    for a in arrays(data):
        assert a.flags.c_contiguous
        assert np.isfinite(a).all()
    if data.tasks:
        assert data.tasks[0] == 0
        assert data.tasks[-1] == len(data.X)
        assert all(type(row) is int for row in data.tasks)
        assert (np.diff(data.tasks) > 0).all()


def shared_rows(a: Array, b: Array) -> int:
    """The number of rows of a that are rows of b."""
    known = {row.tobytes() for row in b}
    return sum(row.tobytes() in known for row in a)
