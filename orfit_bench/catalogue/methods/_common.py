"""Pieces that several declarations share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.errors import DivergedError
from orfit_bench.spec.law import Measured, Rows, deviation, here, largest
from orfit_bench.spec.method import Field, Settings, Sizes
from orfit_bench.spec.setting import Setting

WEIGHTS = Field("w", ("parameter", "output"), "weights; on a linear model one column an output")
BASIS = Field(
    "basis", ("direction", "parameter"), "orthonormal rows that span the remembered gradients", compared="span"
)
STEP_SIZE = Setting("step_size", "schedule", 0.001, "(0, inf)", "the step, a number or a schedule")
MEMORY = Setting("memory", "integer", None, "[1, inf)", "how many directions are kept; None keeps all", optional=True)


def directions(settings: Settings, sizes: Sizes) -> int:
    """No more independent directions than parameters, nor than the memory."""
    memory = settings.get("memory")
    return sizes["parameter"] if memory is None else min(int(memory), sizes["parameter"])


def final_weights(learner: Any) -> NDArray[Any]:
    """The weights (p, r) of a learner, in host memory, float64."""
    return np.asarray(learner.state()[learner.method.weights].values, float)


def condition(A: NDArray[Any]) -> float:
    """Largest over smallest singular value."""
    values = np.linalg.svd(A, compute_uv=False)
    return float(values[0] / values[-1])


def least_energy(X: NDArray[Any]) -> float:
    """The energy of the rows along their weakest direction: a prior of this size counts beside them."""
    return float(np.linalg.svd(X, compute_uv=False)[-1] ** 2)


def unit(X: NDArray[Any]) -> NDArray[Any]:
    """The rows at length 1."""
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True))


def against_min_norm(learner: Any, rows: Rows) -> Measured:
    """How far the learner's weights are, after these independent rows, from the smallest that fit them."""
    X, y, _ = rows
    want = np.linalg.pinv(X) @ y[:, None]
    return Measured(deviation(final_weights(learner.partial_fit(X, y)), want), len(X), condition(X))


def refused(act: Any, *arguments: Any) -> bool:
    """Whether the learner's act on these rows was refused as a step that would leave the floats."""
    try:
        act(*arguments)
    except DivergedError:
        return True
    return False


def against_rows_fitted(learner: Any, rows: Rows) -> Measured:
    """How far predictions are from the labels just after each row was learned."""
    worst = 0.0
    for x, t in zip(rows.X, rows.y, strict=True):
        learner.partial_fit(x[None], [t])
        scale = np.linalg.norm(x) * np.linalg.norm(final_weights(learner)) + abs(t)
        worst = largest(worst, float(abs(here(learner.predict(x[None]))[0] - t) / scale))
    return Measured(worst, len(rows.X), 1.0)
