"""At which rows the coordinates of a pipeline move, so that this depends on the rows and not on the chunks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.learners.pipelines.coordinates import Coordinates
from orfit_bench.learners.pipelines.transforms import RunningMoments

Array = np.ndarray[Any, Any]

WINDOW = 1024
"""Rows that are looked at together."""


class Segment(NamedTuple):
    """Rows [start, stop) of a chunk that have the same coordinates."""

    start: int
    stop: int
    move: Coordinates | None
    """The coordinates that hold from its first row on; None for those before."""


def segments(
    moments: RunningMoments, X: Array, current: Coordinates | None, seen: int, allowed: Array, scale: bool
) -> Iterator[Segment]:
    """The rows of a chunk that follow `seen` earlier ones, cut where the coordinates move.

    They move to the moments after the first row, after the rows 2, 4, 8, ..., and with `scale` after a row in which a
    column varies for the first time, or that is far from where the moments after it put it; only at rows `allowed`.
    """
    start, move = 0, None
    while start < len(X) or start == 0:
        after = start + (move is not None)
        stop = _next_move(moments, X, current, seen, after, allowed, scale)
        if stop > start or not len(X):
            yield Segment(start, stop, move)
        if stop == len(X):
            return
        start, move = stop, moments.coordinates(stop)
        current = move


def _next_move(
    moments: RunningMoments, X: Array, current: Coordinates | None, seen: int, start: int, allowed: Array, scale: bool
) -> int:
    """The first row from `start` on at which the coordinates move; the number of rows if there is none."""
    n = len(X)
    if current is None:
        return start + int(allowed[start:].argmax()) if allowed[start:].any() else n
    while start < n:
        due = min(n, _power_of_two(seen + start + 1) - 1 - seen)
        if scale and (far := _first_far(moments, X, current, start, due, allowed)) is not None:
            return far
        if due == n or allowed[due]:
            return due
        start = due + 1
    return n


def _power_of_two(number: int) -> int:
    """The least power of two that is not less."""
    return 1 << (number - 1).bit_length()


def _first_far(
    moments: RunningMoments, X: Array, current: Coordinates, start: int, stop: int, allowed: Array
) -> int | None:
    """The first row with a column that has not varied before, or |z|^2 > 4 (1 + |own z|^2) by the moments after it."""
    for first in range(start, stop, WINDOW):
        part = slice(first, min(first + WINDOW, stop))
        own = _square((X[part] - moments.means[part]) / moments.spreads[part])
        far = _square(current.rows(X[part])) > 4 * (1 + own)
        far |= (moments.varies[part] & ~current.varied).any(axis=1)
        far &= allowed[part]
        if far.any():
            return first + int(far.argmax())
    return None


def _square(Z: Array) -> Array:
    """The squared norms of rows."""
    return np.asarray((Z * Z.conj()).real.sum(axis=1))
