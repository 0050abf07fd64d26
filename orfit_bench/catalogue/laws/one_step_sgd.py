"""Laws of one-step SGD."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.helpers import condition, final_weights, measure_row_fit
from orfit_bench.catalogue.shared.recursions import error_system, gradient_steps, normalized_steps
from orfit_bench.spec.law import Law, Measured, Rows, deviation


def closed_form(create: Any, rows: Rows) -> Measured:
    """The a-priori errors of all rows solve one triangular system (the unrolled recursion)."""
    X, y, _ = rows
    want = gradient_steps(X, y[:, None], np.zeros((X.shape[1], 1)), normalized_steps(X, 1.0, 0.0))
    got = final_weights(create().partial_fit(X, y))
    return Measured(deviation(got, want), len(X), condition(error_system(X, normalized_steps(X, 1.0, 0.0))))


def fits_each_row(create: Any, rows: Rows) -> Measured:
    """Each step fits its row exactly."""
    return measure_row_fit(create(), rows)


def fits_rows_near_underflow(create: Any, rows: Rows) -> Measured:
    """Each row is fitted to full precision even if its squared norm underflows to a subnormal number."""
    info = np.finfo(create().dtype)
    size = float(info.tiny) ** 0.5 * float(info.eps) ** 0.375
    unit = rows.X / np.linalg.norm(rows.X, axis=1, keepdims=True)
    return measure_row_fit(create(), Rows(unit * size, rows.y * size, rows.seed))


LAWS = (
    Law(closed_form, "thesis, section 5.1", exponent=1),
    Law(fits_each_row, "thesis, eq. (3.2)", exponent=0),
    Law(fits_rows_near_underflow, "thesis, eq. (3.2)", exponent=0),
)
