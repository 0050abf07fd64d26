"""The smoother's two passes: a filter that keeps what it knew at every step, and Rauch-Tung-Striebel back again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from orfit_bench.host.extended import Extended, Moments, moments
from orfit_bench.spec.backend import Array

if TYPE_CHECKING:
    import xarray


class Passed(NamedTuple):
    """One step of the filter: the matrix of its transition (None: the identity), before and after its row."""

    transition: Array | None
    predicted: Moments
    corrected: Moments


def forward(extended: Extended, s: Any, X: Array, Y: Array, p: Any) -> list[Passed]:
    """Filter the rows of X; fewer steps than rows where the next one diverged."""
    steps: list[Passed] = []
    for i in range(len(X)):
        here = p.at(i)
        applied, transition = extended.predicted(s, here)
        predicted = moments(s)
        if not (applied and extended.corrected(s, X[i : i + 1], Y[i : i + 1], here, None)):
            break
        steps.append(Passed(transition, predicted, moments(s)))
    return steps


def backward(kernel: Any, steps: list[Passed], s: Any, xp: Any) -> tuple[Array, Array]:
    """Means (n, p, r) and covariances (n, p, p) of every step, given all steps."""
    if not steps:
        return xp.zeros((0, *s.mean.shape), s.mean.dtype), xp.zeros((0, *s.covariance.shape), s.mean.dtype)
    still = xp.eye(len(s.mean), dtype=s.mean.dtype)
    F = xp.stack([still if step.transition is None else step.transition for step in steps])
    predicted, corrected = (
        Moments(*map(xp.stack, zip(*run, strict=True))) for run in list(zip(*steps, strict=True))[1:]
    )
    kernel.rts(F, *predicted, *corrected)
    return corrected


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
