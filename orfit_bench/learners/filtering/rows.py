"""The rows of a filter with what came with them, all of it checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from orfit_bench.learners import weighting
from orfit_bench.learners.filtering.named_inputs import read_inputs
from orfit_bench.learners.filtering.rule import FilterRule
from orfit_bench.learners.targets import Rows, with_numbers
from orfit_bench.spec.backend import Array
from orfit_bench.state.state import LearnerState
from orfit_bench.tables.row_labels import check_rows_agree

HostArray = np.ndarray[Any, Any]
VARYING = ("transition", "process_noise", "observation_noise", "control")
"""Arguments that may come with the rows."""


def read_rows(
    rule: FilterRule,
    state: LearnerState | None,
    X: ArrayLike,
    y: ArrayLike,
    varying: tuple[object, ...],
    block: bool,
    sample_weight: ArrayLike | None,
) -> Rows:
    """Rows, or with `block` one step, with (transition, process_noise, observation_noise, control) and weights."""
    look = block or not rule.kernel_checks_rows or any(v is not None for v in (*varying, sample_weight))
    rows = with_numbers(rule, state, X, y, "A" if block else "X", look)
    for name, value in zip(VARYING, varying, strict=True) if not block else ():
        check_rows_agree(X, value, name)
    varying = read_inputs(rule, rows.sizes, rows.feature_names, rows.target_names, varying, block)
    if sample_weight is not None:
        weights = weighting.validate(sample_weight, rule, len(rows.X), X)
        transition, process_noise, noise, control = varying
        noise = _divide_noise(rule.settings["observation_noise"], noise, weights)
        rows = rows._replace(Y=_without_targets(rule, rows.Y, weights == 0))
        varying = transition, process_noise, noise, control
    return rows._replace(inputs=rule.step_inputs(rows.sizes, varying, len(rows.X), block))


def _divide_noise(setting: object, noise: object, weights: HostArray) -> HostArray:
    """The variances of the rows, those given or those of the setting, divided by the weights."""
    rows = len(weights)
    each = np.asarray(setting if noise is None else noise, float)
    if noise is None:
        each = np.broadcast_to(each, (rows, *each.shape))
    elif len(each) != rows:
        raise ValueError(f"observation_noise: got {len(each)} entries, want {rows}, one for each row")
    divisor = np.where(weights > 0, weights, 1.0).reshape(rows, *[1] * (each.ndim - 1))
    return np.asarray(each / divisor)


def _without_targets(rule: FilterRule, Y: Array, gaps: HostArray) -> Array:
    """The targets with NaN in these rows."""
    if not gaps.any():
        return Y
    targets = np.array(rule.backend.asnumpy(Y))
    targets[gaps] = np.nan
    return rule.place(targets)
