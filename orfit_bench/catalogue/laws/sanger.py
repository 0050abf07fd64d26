"""Laws of Sanger's rule in the Krasulina paper's form."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.complex_numbers import explicit, measure_complex_steps
from orfit_bench.catalogue.laws.subspaces import (
    MIXED,
    STEP,
    leading_eigenvectors_are_fixed,
    oblique_condition,
    oblique_steps,
    relative_step,
)
from orfit_bench.spec.law import Law, Measured, Rows, deviation, nan_max


def explicit_gradient_step(create: Any, rows: Rows) -> Measured:
    """C <- C - step/N (C X - Y) X', with X the minimum-norm least-squares coordinates of the rows (truth: SVD)."""
    step, worst = relative_step(rows), 0.0
    for A, C, found in oblique_steps(create, rows, step):
        X = np.linalg.pinv(C) @ A.T
        want = C - step / len(A) * (C @ X - A.T) @ X.T
        worst = nan_max(worst, deviation(found, want))
    gain = STEP / np.linalg.svd(MIXED, compute_uv=False)[-1]  # step |y| |x|, |x| <= |y| / sigma_min
    return Measured(worst, len(rows.X), oblique_condition(gain))


def complex_steps(create: Any, rows: Rows) -> Measured:
    """On complex rows, C equals that of steps in real arithmetic with matrices of twice the size."""
    return measure_complex_steps(create, rows, explicit, np.asarray)


LAWS = (
    Law(explicit_gradient_step, "Krasulina paper, the explicit variant after eq. (12)", exponent=1),
    Law(leading_eigenvectors_are_fixed, "Krasulina paper, eq. (11)", exponent=0),
    Law(
        complex_steps,
        "docs/decisions/0053, on Krasulina paper, the explicit variant after eq. (12)",
        exponent=0,
        numbers="complex",
    ),
)
