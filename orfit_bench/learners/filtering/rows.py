"""Validation of the rows of a filter and of the inputs that come with them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from orfit_bench.learners import validation, weighting
from orfit_bench.learners.filtering.dynamics import GivenWithRows
from orfit_bench.learners.filtering.named_inputs import read_inputs
from orfit_bench.learners.filtering.rule import FilterRule
from orfit_bench.learners.targets import EncodedRows, with_numbers
from orfit_bench.spec.backend import Array
from orfit_bench.state.state import LearnerState
from orfit_bench.tables.row_labels import check_rows_agree

HostArray = np.ndarray[Any, Any]


def read_rows(
    rule: FilterRule,
    state: LearnerState | None,
    X: ArrayLike,
    y: ArrayLike,
    given: GivenWithRows,
    block: bool,
    sample_weight: ArrayLike | None,
) -> EncodedRows:
    """The rows, or with `block` one step, with the inputs and weights that were given with them."""
    finite = block or not rule.kernel_checks_rows or not given.is_empty or sample_weight is not None
    rows = with_numbers(rule, state, X, y, "A" if block else "X", finite)
    for name, value in given._asdict().items():
        if not block or name == "observation_noise":  # of each row, also in one step
            check_rows_agree(X, value, name)
    given = read_inputs(rule, rows.sizes, rows.feature_names, rows.target_names, given, block)
    if sample_weight is not None:
        weights = weighting.validate(sample_weight, rule, rows.X.shape[:1], X)
        noise = _divide_noise(rule, given.observation_noise, weights)
        rows = rows._replace(Y=_without_targets(rule, rows.Y, weights == 0))
        given = given._replace(observation_noise=noise)
    return rows._replace(inputs=rule.step_inputs(rows.sizes, given, rows.X.shape[0], block))


def _divide_noise(rule: FilterRule, noise: object, weights: HostArray) -> HostArray:
    """The variances of the rows, those given or those of the setting, divided by the weights."""
    rows = len(weights)
    if noise is None:
        of_all = np.asarray(rule.settings["observation_noise"], float)
        each = np.broadcast_to(of_all, (rows, *of_all.shape))
    else:
        each = validation.numbers(noise, "observation_noise", np.dtype(float))
    if each.shape[:1] != (rows,):
        return each  # refused later, like other wrong shapes
    divisor = np.where(weights > 0, weights, 1.0).reshape(rows, *[1] * (each.ndim - 1))
    with np.errstate(over="ignore"):
        found = np.asarray(each / divisor)
        _check_quotients(each.astype(rule.dtype), found.astype(rule.dtype), weights)
    return found


def _check_quotients(each: HostArray, found: HostArray, weights: HostArray) -> None:
    """Raise ValueError if a weight makes a variance infinite, or zero, as if the row had no noise."""
    of_row = tuple(range(1, each.ndim))
    infinite: HostArray = np.asarray((np.isfinite(each) & ~np.isfinite(found)).any(axis=of_row))
    lost: HostArray = infinite | ((each != 0) & (found == 0)).any(axis=of_row)
    if lost.any():
        row = int(lost.argmax())
        size = "infinite. A weight of 0 leaves a row out" if infinite[row] else "zero. Scale the weights"
        raise ValueError(f"sample_weight[{row}] is {weights[row]}: the variance of the noise, divided by it, is {size}")


def _without_targets(rule: FilterRule, Y: Array, gaps: HostArray) -> Array:
    """The targets with NaN in these rows."""
    if not gaps.any():
        return Y
    targets = np.array(rule.backend.asnumpy(Y))
    targets[gaps] = np.nan
    return rule.place(targets)
