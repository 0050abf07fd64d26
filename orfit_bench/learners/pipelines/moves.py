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

    They move to the moments after the first row, after the rows 2, 4, 8, ..., and with `scale` after a row that is far
    from where its own moments would put it; at rows that are `allowed` only.
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
    """The first row whose coordinates differ by more than 1 + |z| from z, those by the moments up to itself."""
    for first in range(start, stop, WINDOW):
        part = slice(first, min(first + WINDOW, stop))
        z = (X[part] - moments.means[part]) / moments.spreads[part]
        is_new = moments.varies[part] & ~current.varied
        far = (np.abs(current.rows(X[part]) - z) > 1 + np.abs(z)) | is_new
        rows = far.any(axis=1) & allowed[part]
        if rows.any():
            return first + int(rows.argmax())
    return None
