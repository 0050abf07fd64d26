"""Running means and variances of columns: exact in one pass (Welford), with weights of rows, and merged exactly."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


class Moments(NamedTuple):
    """The moments of the rows so far."""

    weight: float
    """The number of rows, or the sum of their weights."""
    mean: Array
    """(d,)"""
    squares: Array
    """Sums of the squared differences from the mean (d,)."""


class MomentsByRow(NamedTuple):
    """The moments after each of several rows; numbers that overflowed are infinite or NaN."""

    counts: Array
    """The sums of the weights (n, 1); 1 before the first row with a weight."""
    means: Array
    """(n, d)"""
    sums: Array
    """Sums of the squared differences from the mean (n, d)."""


def after_each(known: Moments, X: Array, weights: Array | None) -> MomentsByRow:
    """The moments after each row of X (n, d), at least one; ValueError if weights (n,) remove more than there is."""
    weight, mean, squares = known
    counts = weight + np.arange(1.0, len(X) + 1)[:, None] if weights is None else _sums_of_weights(weight, weights)
    w = 1.0 if weights is None else weights[:, None]
    # sums of differences from the first row that counts keep the digits that sums of large rows lose
    first = mean if weight else X[0 if weights is None else int((weights != 0).argmax())]
    rows = X if weights is None else np.where(w == 0, first, X)
    with np.errstate(over="ignore", invalid="ignore"):
        means = first + (w * (rows - first)).cumsum(axis=0) / counts
        before = np.concatenate([first[None], means[:-1]])
        sums = squares + (w * _product(rows - before, rows - means)).cumsum(axis=0)
    return MomentsByRow(counts, means, sums)


def _sums_of_weights(weight: float, weights: Array) -> Array:
    """The sums of the weights up to each row (n, 1); 1 before the first row with a weight."""
    counts = weight + weights.cumsum()
    counts[(counts == 0) & (np.abs(weights).cumsum() == 0)] = 1
    if not counts.min() > 0:
        raise ValueError(
            f"sample_weight: the weights of all rows up to row {counts.argmin()} of this call add up to 0 or less, "
            f"want a positive sum"
        )
    return np.asarray(counts[:, None])


def as_next(known: Moments, X: Array) -> MomentsByRow:
    """The moments after each row of X (n, d), if it were the next row."""
    weight, mean, squares = known
    n = weight + 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        means = mean + (X - mean) / n if weight else X
        sums = squares + _product(X - mean, X - means)
    return MomentsByRow(np.asarray(n), means, sums)


def _product(a: Array, b: Array) -> Array:
    """The products a b; for complex numbers the real part of a conj(b), which sums to the squares of their sizes."""
    return np.asarray((a * b.conj()).real)


def merged(a: Moments, b: Moments) -> Moments:
    """The moments of the rows of both, each at least one (Chan, Golub and LeVeque)."""
    n = a.weight + b.weight
    mean = a.mean + (b.mean - a.mean) * (b.weight / n)
    with np.errstate(over="ignore"):
        sums = a.squares + b.squares + np.abs(b.mean - a.mean) ** 2 * (a.weight * (b.weight / n))
    return Moments(n, mean, sums)


def deviations(means: Array, variances: Array) -> tuple[Array, Array]:
    """The standard deviations of columns, and whether they vary by more than the rounding of the mean."""
    deviation = np.sqrt(variances)
    return deviation, deviation > np.finfo(float).eps * np.abs(means)
