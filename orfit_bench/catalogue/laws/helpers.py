"""Functions shared by the laws of several methods: weights, condition numbers, small experiments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.catalogue.shared.least_squares import invert_information, weighted_rows
from orfit_bench.errors import DivergedError
from orfit_bench.spec import Array
from orfit_bench.spec.law import Measured, Rows, deviation, nan_max, to_numpy64


def final_weights(learner: Any) -> NDArray[Any]:
    """The weights (p, r) of a learner, in host memory, in double precision."""
    return np.asarray(to_numpy64(learner.array(learner.method.state.weights)))


def condition(A: NDArray[Any]) -> float:
    """The ratio of the largest to the smallest singular value."""
    values = np.linalg.svd(A, compute_uv=False)
    return float(values[0] / values[-1])


def weakest_energy(X: NDArray[Any]) -> float:
    """The smallest squared singular value of X: a prior of this weight is noticeable compared with the rows."""
    return float(np.linalg.svd(X, compute_uv=False)[-1] ** 2)


def measure_min_norm(learner: Any, rows: Rows) -> Measured:
    """The deviation of the weights, after learning independent rows, from the smallest weights that fit them."""
    X, y, _ = rows
    want = np.linalg.pinv(X) @ y[:, None]
    return Measured(deviation(final_weights(learner.partial_fit(X, y)), want), len(X), condition(X))


def is_refused(act: Any, *arguments: Any) -> bool:
    """Whether a call of a learner is refused with DivergedError."""
    try:
        act(*arguments)
    except DivergedError:
        return True
    return False


def measure_row_fit(learner: Any, rows: Rows) -> Measured:
    """The deviation of the prediction from the target just after each row was learned."""
    worst = 0.0
    for x, t in zip(rows.X, rows.y, strict=True):
        learner.partial_fit(x[None], [t])
        scale = np.linalg.norm(x) * np.linalg.norm(final_weights(learner)) + abs(t)
        worst = nan_max(worst, float(abs(to_numpy64(learner.predict(x[None]))[0] - t) / scale))
    return Measured(worst, len(rows.X), 1.0)


def learn_in_parts(create: Callable[[], Any], X: Array, y: Array, cuts: tuple[int, ...]) -> Any:
    """Learn parts of the rows with separate learners, and merge them starting from the last."""
    parts = [create().partial_fit(X[i:j], y[i:j]) for i, j in zip((0, *cuts), (*cuts, len(X)), strict=True)]
    merged = parts.pop()
    while parts:
        merged = parts.pop().merge(merged)
    return merged


def measure_merge(create: Any, X: Array, targets: Array, Y: Array) -> Measured:
    """The deviations of w and P of merged learners of parts of the rows from those of the weighted problem with Y."""
    prior, worst, cond = weakest_energy(X), 0.0, condition(X)
    for ff in (0.97, 1.0, 1.02):
        make = partial(create, ridge=prior, forgetting_factor=ff)
        state = learn_in_parts(make, X, targets, cuts=(5, len(X) // 2)).state()
        A, B = weighted_rows(X, Y, prior, ff)
        found = deviation(state["w"].values, np.linalg.lstsq(A, B, rcond=None)[0])
        P = invert_information(A) / max(1, ff ** len(X))  # the rows of A are scaled by the largest weight
        worst = nan_max(worst, found, deviation(state["P"].values, P))
        cond = max(cond, condition(A))
    return Measured(worst, len(X), cond)
