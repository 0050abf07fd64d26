"""One row per call, if its coordinates are those of the rows before it.

The operations are those of a chunk (`moments.after_each`, `moves.segments`), in the same order, so that all bits are
the same; a chunk of one row takes several times as long.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.learners.pipelines.coordinates import Coordinates
from orfit_bench.learners.pipelines.moments import deviations
from orfit_bench.learners.pipelines.position import Position
from orfit_bench.learners.pipelines.standardizer import Standardizer

Array = np.ndarray[Any, Any]


class NextRow(NamedTuple):
    """A row (d + 1,) as the learner gets it, and the standardizer and position after it."""

    row: Array
    standardizer: Standardizer
    position: Position


def next_row(standardizer: Standardizer, position: Position, x: Array) -> NextRow | None:
    """x (d,) as the next row to learn; None if the coordinates move, or a number is not finite."""
    current, number = position.current, position.count + 1
    mean, squares = standardizer.mean, standardizer.squares
    is_due = number & (number - 1) == 0  # a power of two
    if is_due or current is None or mean is None or squares is None:
        return None
    n = standardizer.count + 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        row = row_in(current, x)
        difference = x - mean
        mean = mean + difference / n
        squares = squares + difference * (x - mean)
        total = (squares if standardizer.scale else mean).sum()
        if row is None or not math.isfinite(total):
            return None
        if standardizer.scale and _is_far(row[:-1], x - mean, *deviations(mean, squares / n)):
            return None
    after = Standardizer(standardizer.scale, standardizer.count + 1, mean, squares)
    return NextRow(row, after, replace(position, count=number))


def row_in(current: Coordinates, x: Array) -> Array | None:
    """x (d,) in these coordinates, followed by the 1 of the intercept; None if the general path must find it.

    It must if a column has not varied yet, or a number is not finite.
    """
    if not current.varied.all():
        return None
    row = np.ones(len(x) + 1)
    with np.errstate(over="ignore", invalid="ignore"):
        row[:-1] = (x - current.center) / current.spread
        return row if math.isfinite(row.sum()) else None


def _is_far(z: Array, difference: Array, deviation: Array, varies: Array) -> bool:
    """Whether a row z is far out, compared with the coordinates of the moments after it, as in `moves`."""
    own = difference / np.where(varies, deviation, 1.0)
    return bool((z * z).sum() > 4 * (1 + (own * own).sum()))
