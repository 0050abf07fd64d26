"""The smoother's two passes: a filter that keeps what it knew at every step, and Rauch-Tung-Striebel back again."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from orfit_bench.learners.filtering.extended import Extended, Moments, moments
from orfit_bench.spec.backend import Array

if TYPE_CHECKING:
    import xarray


class Passed(NamedTuple):
    """Steps of the filter: what it knew before and after each row, and the transitions to them."""

    transitions: list[Array]
    predicted: Moments
    corrected: Moments


def forward(extended: Extended, s: Any, X: Array, Y: Array, p: Any, xp: Any) -> Passed:
    """Filter the rows of X; as many transitions as rows, fewer where the next one diverged."""
    n, still = len(X), xp.eye(len(s.mean), dtype=s.mean.dtype)
    passed = Passed([], *(Moments(*(xp.empty((n, *a.shape), a.dtype) for a in moments(s))) for _ in range(2)))
    for i in range(n):
        here = p.at(i)
        applied, transition = extended.predicted(s, here)
        keep(passed.predicted, i, s)
        if not (applied and extended.corrected(s, X[i : i + 1], Y[i : i + 1], here, None)):
            break
        keep(passed.corrected, i, s)
        passed.transitions.append(still if transition is None else transition)
    return passed


def keep(of_steps: Moments, i: int, s: Any) -> None:
    """Entry i <- the state's moments."""
    for kept, now in zip(of_steps, moments(s), strict=True):
        kept[i] = now


def variances(of_steps: Moments, xp: Any) -> Array:
    """The diagonals (n, p) of covariances."""
    return xp.diagonal(of_steps.covariance, axis1=1, axis2=2)


def impossible(before: Array, after: Array, xp: Any) -> bool:
    """Whether a variance is negative, or grew by knowing more: by half of the digits of its step's largest."""
    slack = math.sqrt(xp.finfo(before.dtype).eps) * xp.max(before, axis=1)[:, None]
    return not bool(((after >= -slack) & (after <= before + slack)).all())


def dataset(mean: np.ndarray[Any, Any], covariance: np.ndarray[Any, Any], first: int) -> xarray.Dataset:
    """The smoothed moments with named dimensions, by the number of the step."""
    import xarray

    return xarray.Dataset(
        {
            "mean": (("step", "parameter", "output"), mean),
            "covariance": (("step", "parameter", "parameter_2"), covariance),
        },
        coords={"step": np.arange(first, first + len(mean))},
    )
