"""The rows at which the coordinates of a pipeline move, which depend on the rows and not on the chunks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.learners.pipelines.coordinates import Coordinates
from orfit_bench.learners.pipelines.standardizer import RunningMoments

Array = np.ndarray[Any, Any]

FIRST_WINDOW, WINDOW = 16, 1024
"""Number of rows that are checked together: first, and at most."""


class Segment(NamedTuple):
    """Rows [start, stop) of a chunk that have the same coordinates."""

    start: int
    stop: int
    move: Coordinates | None
    """The coordinates that apply from its first row; None if they are the same as before."""
    number: int
    """The number of rows that count, up to and including its first row."""


def segments(
    moments: RunningMoments, X: Array, current: Coordinates | None, seen: int, counts: Array, scale: bool
) -> Iterator[Segment]:
    """The rows of a chunk that follow `seen` earlier ones, cut where the coordinates move.

    They move at the first row and at the rows 2, 4, 8, ..., before the row is learned, to the moments that include it.
    With `scale`, they also move at a row in which a column varies for the first time, and at a row that is far out in
    the current coordinates, compared with those of the moments that include it. Only rows marked in `counts` are
    counted and cause moves.
    """
    numbers = seen + np.cumsum(counts)
    start, move, n = 0, None, len(X)
    while True:
        stop = _next_move(moments, X, current, seen, start + (move is not None), counts, numbers, scale)
        if stop > start or not n:
            yield Segment(start, stop, move, int(numbers[start]) if n else seen)
        if stop == n:
            return
        start, move = stop, moments.coordinates(stop)
        current = move


def _next_move(
    moments: RunningMoments,
    X: Array,
    current: Coordinates | None,
    seen: int,
    start: int,
    counts: Array,
    numbers: Array,
    scale: bool,
) -> int:
    """The first row, not before `start`, at which the coordinates move; the number of rows if there is none."""
    before = int(numbers[start - 1]) if start else seen
    due = int(np.searchsorted(numbers, 1 << before.bit_length()))  # the next power of two
    if scale and current is not None:
        return _first_far(moments, X, current, start, due, counts)
    return due


def _first_far(moments: RunningMoments, X: Array, current: Coordinates, start: int, stop: int, counts: Array) -> int:
    """The first row that is far out, or in which a column varies for the first time; `stop` if there is none.

    A row is far out if |z|^2 > 4 (1 + |z_own|^2), where z is the row in the current coordinates and z_own the row
    standardized by the moments that include it.
    """
    first, window = start, FIRST_WINDOW
    while first < stop:
        part = slice(first, min(first + window, stop))
        own = _square((X[part] - moments.means[part]) / moments.spreads[part])
        far = _square(current.rows(X[part])) > 4 * (1 + own)
        far |= (moments.varies[part] & ~current.varied).any(axis=1)
        far &= counts[part]
        if far.any():
            return first + int(far.argmax())
        first, window = part.stop, min(2 * window, WINDOW)
    return stop


def _square(Z: Array) -> Array:
    """The squared norms of rows."""
    with np.errstate(over="ignore"):  # infinite is far
        return np.asarray((Z * Z.conj()).real.sum(axis=1))
