"""The smoother's two passes: a filter that records its moments at every step, and Rauch-Tung-Striebel backwards."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from orfit_bench.learners.filtering.dynamics import FilterParameters
from orfit_bench.learners.filtering.extended import ExtendedFilter, Moments, filtered_rows, moments, variances_of
from orfit_bench.learners.filtering.in_float64 import Pass
from orfit_bench.learners.filtering.rounding import (
    MARGIN,
    CloseEstimate,
    QuickEstimate,
    error_of_means,
    most_deviations,
    most_error_of_inverses,
)
from orfit_bench.spec.arrays import copy_of, host_dtype
from orfit_bench.spec.backend import Array
from orfit_bench.spec.kernel_arguments import State

if TYPE_CHECKING:
    import xarray


MAGNIFIED = 5
"""Largest ratio of the error of a smoothed moment to that of the filtered one, both in deviations."""


class FilterPass(NamedTuple):
    """Steps of the filter: the moments before and after each row, the transitions and the noise they add."""

    transitions: list[Array]
    process_noises: list[Array | None]
    scales: list[Array]
    """For a filter that keeps a root, the variances by which it measured rounding at each step."""
    predicted: Moments
    corrected: Moments


def run_filter(
    extended: ExtendedFilter, s: Any, X: Array, Y: Array, p: FilterParameters, record: Callable[..., int] | None
) -> FilterPass:
    """Filter the rows of X and record each step; there are fewer transitions than rows if a step diverged.

    record(s, X, Y, p, records), if given, does so for the first rows and returns their number.
    """
    n, xp = X.shape[0], s.mean.__array_namespace__()
    identity = xp.eye(s.mean.shape[0], dtype=s.mean.dtype)
    steps = FilterPass(
        [], [], [], *(Moments(*(xp.empty((n, *a.shape), dtype=a.dtype) for a in moments(s))) for _ in range(2))
    )
    done = record(s, X, Y, p, (*steps.predicted, *steps.corrected)) if record else 0
    steps.transitions.extend(p.transitions(done, identity))
    steps.process_noises.extend(p.process_noises(done))
    for i in range(done, n):
        p_i, row = p.at(i), (slice(i, i + 1), ...)
        applied, transition = extended.predict_step(s, p_i)
        record_moments(steps.predicted, i, s)
        if hasattr(s, "root"):
            steps.scales.append(copy_of(s.scale, xp))
        usable = applied and (i == 0 or extended.can_smooth(s, p_i))  # moments before the first row are not used
        if not (usable and extended.correct(s, X[row], Y[row], p_i, None)):
            break
        record_moments(steps.corrected, i, s)
        steps.transitions.append(identity if transition is None else transition)
        steps.process_noises.append(p_i.process_noise if p_i.t > 1 else None)
    return steps


def record_moments(records: Moments, i: int, s: State) -> None:
    """Set entry i to the moments of the state."""
    for record, current in zip(records, moments(s), strict=True):
        record[i, ...] = current


def smooth(kernel: Any, steps: FilterPass, rows: Pass, linear: bool, dtype: np.dtype[Any]) -> bool:
    """Replace the moments after each row by those given all rows; returns whether they may be inaccurate in `dtype`.

    `linear` says whether the model and the transitions are linear.
    """
    F, Q, scales, predicted, corrected = steps
    if not F:
        return False
    xp = corrected.mean.__array_namespace__()
    most, mean, variances = most_deviations(dtype), copy_of(corrected.mean, xp), copy_of(variances_of(corrected), xp)
    error = 0.0 if scales or not linear else MAGNIFIED * error_before(steps, rows, most)
    scale = scale_of_roots(variances, scales) if scales else None
    of_inverses = kernel.rts_smooth(F, *predicted, *corrected, Q, scale) or 0.0
    if scales:  # the filter's own moments are right
        error = of_inverses * largest_change(mean, corrected)
    accurate = error <= most and of_inverses <= most_error_of_inverses(dtype, host_dtype(mean))
    return not (accurate and is_plausible(variances, variances_of(corrected)))


def largest_change(mean: Array, after: Moments) -> float:
    """The largest move of a mean by smoothing, in deviations: the factor of errors of the inverse covariances."""
    xp, variances = mean.__array_namespace__(), variances_of(after)
    moved = xp.max(xp.abs(after.mean - mean), axis=2)
    deviations = xp.sqrt(xp.where(variances > 0, variances, 1.0))
    return float(xp.max(xp.where(variances > 0, moved / deviations, 0.0)))


def scale_of_roots(corrected: Array, scales: list[Array]) -> Array:
    """The variances (n, p) by which rounding in S S' is measured: those of S S', at least eps times the filter's."""
    xp = corrected.__array_namespace__()
    return xp.maximum(corrected, float(xp.finfo(corrected.dtype).eps) * xp.stack(scales))


def error_before(steps: FilterPass, given: Pass, most: float) -> float:
    """The largest error, in deviations, of a filtered moment, before smoothing.

    It is 0 if variances alone show that it is far below `most`.
    """
    rows = filtered_rows(lambda: steps.transitions, steps.predicted, steps.corrected, given.X, given.Y, given.p)
    p, dtype, noisy = rows.X.shape[1], rows.X.dtype, rows.observed & (rows.noise > 0)
    E, variances = rows.E[noisy], rows.variances[noisy]
    left = float(np.finfo(dtype).eps) * (variances / rows.noise[noisy]).max(initial=0) / 2
    quick = max(error_of_means(QuickEstimate(p).of_rows(rows)[noisy], E, variances), left)
    if quick <= most / MARGIN:
        return 0.0
    relative, largest = CloseEstimate(p, dtype).of_rows_and_variances(rows)
    return float(np.maximum(error_of_means(relative[noisy], E, variances), largest / 2))


def is_plausible(before: Array, after: Array) -> bool:
    """Whether smoothing left variances (n, p) that are not negative, and no larger than before.

    The tolerance is sqrt(eps) times the largest variance of the step.
    """
    xp = before.__array_namespace__()
    if bool(xp.all((after >= 0) & (after <= before))):
        return True
    slack = math.sqrt(float(xp.finfo(before.dtype).eps)) * xp.max(before, axis=1)[:, None]
    return bool(xp.all((after >= -slack) & (after <= before + slack)))


def make_dataset(
    mean: np.ndarray[Any, Any], covariance: np.ndarray[Any, Any], first: int, names: dict[str, tuple[str, ...]]
) -> xarray.Dataset:
    """The smoothed moments with named dimensions, indexed by the step number, and by names if there are any."""
    import xarray

    return xarray.Dataset(
        {
            "mean": (("step", "parameter", "output"), mean),
            "covariance": (("step", "parameter", "parameter_2"), covariance),
        },
        coords={
            "step": np.arange(first, first + len(mean)),
            **{dim: list(labels) for dim, labels in names.items() if labels},
        },
    )
