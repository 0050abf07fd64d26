"""The smoother's two passes: a filter that records its moments at every step, and Rauch-Tung-Striebel backwards."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from orfit_bench.learners.filtering.dynamics import FilterParameters
from orfit_bench.learners.filtering.extended import ExtendedFilter, Moments, moments
from orfit_bench.spec.backend import Array
from orfit_bench.spec.kernel import State

if TYPE_CHECKING:
    import xarray


class FilterPass(NamedTuple):
    """Steps of the filter: the moments before and after each row, the transitions and the noise they add."""

    transitions: list[Array]
    process_noises: list[Array | None]
    scales: list[Array]
    """For a filter that keeps a root, the variances by which it measured rounding at each step."""
    predicted: Moments
    corrected: Moments


def run_filter(
    extended: ExtendedFilter,
    s: State,
    X: Array,
    Y: Array,
    p: FilterParameters,
    xp: ModuleType,
    record: Callable[..., int] | None,
) -> FilterPass:
    """Filter the rows of X and record each step; there are fewer transitions than rows if a step diverged.

    record(s, X, Y, p, records), if there is one, does so for the first rows, and returns how many.
    """
    n, identity = len(X), xp.eye(len(s.mean), dtype=s.mean.dtype)
    steps = FilterPass(
        [], [], [], *(Moments(*(xp.empty((n, *a.shape), a.dtype) for a in moments(s))) for _ in range(2))
    )
    done = record(s, X, Y, p, (*steps.predicted, *steps.corrected)) if record else 0
    steps.transitions.extend(p.transitions(done, identity))
    steps.process_noises.extend(p.process_noises(done))
    for i in range(done, n):
        p_i = p.at(i)
        applied, transition = extended.predict_step(s, p_i)
        record_moments(steps.predicted, i, s)
        if hasattr(s, "root"):
            steps.scales.append(s.scale.copy())
        usable = applied and extended.can_smooth(s, p_i)
        if not (usable and extended.correct(s, X[i : i + 1], Y[i : i + 1], p_i, None)):
            break
        record_moments(steps.corrected, i, s)
        steps.transitions.append(identity if transition is None else transition)
        steps.process_noises.append(p_i.process_noise if p_i.t > 1 else None)
    return steps


def record_moments(records: Moments, i: int, s: State) -> None:
    """Set entry i to the moments of the state."""
    for record, current in zip(records, moments(s), strict=True):
        record[i] = current


def variances(records: Moments, xp: ModuleType) -> Array:
    """The diagonals (n, p) of the covariances."""
    return xp.diagonal(records.covariance, axis1=1, axis2=2)


def scale_of_roots(corrected: Array, scales: list[Array], xp: ModuleType) -> Array:
    """The variances (n, p) by which rounding in S S' is measured: those of S S', at least eps times the filter's."""
    return xp.maximum(corrected, float(xp.finfo(corrected.dtype).eps) * xp.stack(scales))


def is_inaccurate(before: Array, after: Array, error: float | None, xp: ModuleType) -> bool:
    """Whether the kernel estimates an error of more than eps^(1/3), or smoothing made a variance negative or larger.

    The tolerance of variances is sqrt(eps) times the largest variance of the step.
    """
    eps = float(xp.finfo(before.dtype).eps)
    slack = math.sqrt(eps) * xp.max(before, axis=1)[:, None]
    plausible = bool(((after >= -slack) & (after <= before + slack)).all())
    return not plausible or (error is not None and not error <= eps ** (1 / 3))


def make_dataset(
    mean: np.ndarray[Any, Any], covariance: np.ndarray[Any, Any], first: int, names: dict[str, tuple[str, ...]]
) -> xarray.Dataset:
    """The smoothed moments with named dimensions, indexed by the step number, and by names where there are any."""
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
