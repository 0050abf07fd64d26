"""One-step SGD: ORFit without a memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.methods._batch import Array, error_system, gradient_steps
from orfit_bench.catalogue.methods._common import WEIGHTS, against_rows_fitted, condition, final_weights
from orfit_bench.catalogue.methods._merging import averaged
from orfit_bench.catalogue.methods.nlms import normalised
from orfit_bench.spec.law import Law, Measured, Rows, deviation
from orfit_bench.spec.method import Cost, Method


def batch(X: Array, Y: Array, w0: Array, settings: Any) -> Array:
    """The errors solve a triangular system; w is w0 plus their steps."""
    return gradient_steps(X, Y, w0, normalised(X, 1.0, 0.0))


def closed_form(create: Any, rows: Rows) -> Measured:
    """The a-priori errors of all rows solve one triangular system (unrolled recursion)."""
    X, y, _ = rows
    want = batch(X, y[:, None], np.zeros((X.shape[1], 1)), {})
    got = final_weights(create().partial_fit(X, y))
    return Measured(deviation(got, want), len(X), condition(error_system(X, normalised(X, 1.0, 0.0))))


def fits_the_row(create: Any, rows: Rows) -> Measured:
    """Each row is fitted by its own step."""
    return against_rows_fitted(create(), rows)


def fits_tiny_rows(create: Any, rows: Rows) -> Measured:
    """Each row is fitted, in all digits, though its square has left the normal numbers."""
    info = np.finfo(create().dtype)
    size = float(info.tiny) ** 0.5 * float(info.eps) ** 0.375
    unit = rows.X / np.linalg.norm(rows.X, axis=1, keepdims=True)
    return against_rows_fitted(create(), Rows(unit * size, rows.y * size, rows.seed))


METHOD = Method(
    name="one_step_sgd",
    summary="fit each row in one gradient step, remember nothing",
    formulas="e = y - x'w\nw <- w + e x / (x'x)",
    source="thesis, section 5.1 with eq. (3.2)",
    settings=(),
    fields=(WEIGHTS,),
    cost=Cost(
        flops=lambda s, z: (4 * z["output"] + 2) * z["parameter"],
        floats=lambda s, z: (1 + 2 * z["output"]) * z["parameter"],
    ),
    laws=(
        Law(closed_form, "thesis, section 5.1", exponent=1),
        Law(fits_the_row, "thesis, eq. (3.2)", exponent=0),
        Law(fits_tiny_rows, "thesis, eq. (3.2)", exponent=0),
    ),
    batch=batch,
    models=True,
    averages=("w",),
    merge=averaged("w"),
)
