"""Laws of the implicit form of Krasulina's rule."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.complex_numbers import implicit, measure_complex_steps
from orfit_bench.catalogue.laws.helpers import condition
from orfit_bench.catalogue.laws.subspaces import (
    ROWS,
    STEP,
    K,
    final_basis,
    leading_eigenvectors_are_fixed,
    oblique_condition,
    oblique_start,
    oblique_steps,
    relative_step,
)
from orfit_bench.errors import DivergedError
from orfit_bench.spec.law import Law, Measured, Rows, deviation, nan_max

CONDITION = oblique_condition(0.5 * STEP**0.5)
"""A step changes C by at most |y| max_s s / (s^2 + 1/step) = |y| sqrt(step) / 2."""


def single_row_formula(create: Any, rows: Rows) -> Measured:
    """Row by row, eq. (13) equals eq. (12) with N = 1 and a dense inverse."""
    step, worst = relative_step(rows), 0.0
    for A, C, found in oblique_steps(create, rows, step, 1):
        X = np.linalg.pinv(C) @ A.T
        want = (A.T @ X.T + C / step) @ np.linalg.inv(X @ X.T + np.eye(len(X)) / step)
        worst = nan_max(worst, deviation(found, want))
    return Measured(worst, len(rows.X), CONDITION)


def proximal_least_squares_step(create: Any, rows: Rows) -> Measured:
    """A step (12) minimizes |C~ - C|^2 / step + mean |C~ x - y|^2 over C~ (truth: one least-squares problem)."""
    step, worst = relative_step(rows), 0.0
    for A, C, found in oblique_steps(create, rows, step):
        X = np.linalg.pinv(C) @ A.T
        system = np.vstack([np.sqrt(step / len(A)) * X.T, np.eye(len(X))])
        want = np.linalg.lstsq(system, np.vstack([np.sqrt(step / len(A)) * A, C.T]), rcond=None)[0].T
        worst = nan_max(worst, deviation(found, want))
    return Measured(worst, len(rows.X), CONDITION)


def implicit_gradient_step(create: Any, rows: Rows) -> Measured:
    """C_new = C - step/N (C_new X - Y) X': the gradient is taken at the end of the step."""
    step, worst = relative_step(rows), 0.0
    for A, C, found in oblique_steps(create, rows, step):
        X = np.linalg.pinv(C) @ A.T
        want = C - step / len(A) * (found @ X - A.T) @ X.T
        worst = nan_max(worst, deviation(found, want))
    return Measured(worst, len(rows.X), CONDITION)


def large_step_limit_is_em(create: Any, rows: Rows) -> Measured:
    """As the step goes to infinity, a step of all rows becomes the EM step C <- Y X^+.

    They differ by N/step (Y X^+ - C)(X X' + N/step I)^-1, relatively at most N / (step sigma_min(X)^2). The step is
    chosen so large that this is below rounding.
    """
    A, C = rows.X, oblique_start(rows)
    learner, worst, cond = create(n_components=K, step_size=1e30, initial_basis=C), 0.0, 1.0
    for _ in range(3):
        X = np.linalg.pinv(C) @ A.T
        cond = max(cond, condition(C), condition(X))
        C = np.linalg.lstsq(X.T, A, rcond=None)[0].T
        worst = nan_max(worst, deviation(final_basis(learner.step(A)), C))
    return Measured(worst, len(A), cond)


def never_increases_the_loss(create: Any, rows: Rows) -> Measured:
    """A step of all rows never increases their compression loss, by the inequality that follows from eq. (10).

    mean |C_new x - y|^2 + |C_new - C|^2 / step <= mean |C x - y|^2; x need not be optimal for C_new.
    """
    A, worst, total = rows.X, 0.0, float((rows.X**2).sum())
    for share in (0.1, 10.0, 1000.0):
        start = oblique_start(rows)
        learner = create(n_components=K, step_size=relative_step(rows, share), initial_basis=start)
        C = [start, *(final_basis(learner.step(A)) for _ in range(4))]
        losses = [float(((A - A @ np.linalg.pinv(c.T) @ c.T) ** 2).sum()) / total for c in C]
        worst = nan_max(worst, *np.diff(losses))
    return Measured(worst, len(A), 1.0)


def small_step_limit_is_identity(create: Any, rows: Rows) -> Measured:
    """As the step goes to 0, C does not change: it moves by at most step |y| |x| per row, which is below rounding."""
    step = relative_step(rows, 1e-20)
    *_, (_, _, C) = oblique_steps(create, rows, step)
    return Measured(deviation(C, oblique_start(rows)), len(rows.X), 1.0)


def inverse_is_maintained(create: Any, rows: Rows) -> Measured:
    """The inverse under rank-one changes gives C^+ = inverse C' (truth: SVD of C), and the rank of C stays k."""
    step, worst = relative_step(rows), 0.0
    learner = create(n_components=K, step_size=step, initial_basis=oblique_start(rows))
    for x in rows.X[:ROWS]:
        state = learner.partial_fit(x[None]).state()
        C = state["basis"].values.astype(float)
        want = np.linalg.pinv(C)
        worst = nan_max(worst, deviation(state["inverse"].values @ C.T, want), deviation(want @ C, np.eye(len(want))))
    return Measured(worst, len(rows.X), CONDITION)


def orthogonal_row_changes_nothing(create: Any, rows: Rows) -> Measured:
    """A row orthogonal to C, however large, is refused or changes neither C nor its inverse."""
    start, worst = np.eye(5)[:, :2], 0.0
    for k in range(0, 1000, 50):
        learner = create(n_components=2, initial_basis=start)
        with suppress(DivergedError, ValueError):  # ValueError: not representable in this dtype
            learner.partial_fit(np.ldexp(np.eye(5)[2:3], k))
        state = learner.partial_fit(np.zeros((0, 5))).state()
        inverse = state["inverse"].values if state.attrs["t"] else np.eye(2)
        worst = nan_max(worst, deviation(state["basis"].values, start), deviation(inverse, np.eye(2)))
    return Measured(worst, len(rows.X), 1.0)


def complex_steps(create: Any, rows: Rows) -> Measured:
    """On complex rows, C equals that of steps in real arithmetic with matrices of twice the size."""
    return measure_complex_steps(create, rows, implicit, np.asarray)


def complex_inverse_is_maintained(create: Any, rows: Rows) -> Measured:
    """On complex rows with noise, the inverse equals that of C^H C, even while C grows from a small start."""
    rng = np.random.default_rng(rows.seed)
    X = (rng.standard_normal((300, 4)) + 1j * rng.standard_normal((300, 4))) * [1, 1, 1, 3]
    state = create(n_components=2, step_size=0.05).partial_fit(X).state()
    C = state["basis"].values.astype(complex)
    return Measured(deviation(state["inverse"].values @ C.conj().T, np.linalg.pinv(C)), len(X), condition(C))


LAWS = (
    Law(single_row_formula, "Krasulina paper, eq. (12) and (13)", exponent=2),
    Law(proximal_least_squares_step, "Krasulina paper, eq. (10) and (12)", exponent=2),
    Law(implicit_gradient_step, "Krasulina paper, eq. (11)", exponent=2),
    Law(large_step_limit_is_em, "Krasulina paper, eq. (16)", exponent=2),
    Law(never_increases_the_loss, "Krasulina paper, eq. (10) and after eq. (16)", exponent=0),
    Law(small_step_limit_is_identity, "Krasulina paper, after eq. (17): the limit of step 0", exponent=0),
    Law(inverse_is_maintained, "Krasulina paper, Algorithm 1", exponent=2),
    Law(orthogonal_row_changes_nothing, "Krasulina paper, eq. (13)", exponent=0, shape="own"),
    Law(leading_eigenvectors_are_fixed, "Krasulina paper, eq. (11)", exponent=0),
    Law(complex_steps, "docs/decisions/0053, on Krasulina paper, eq. (12) and (13)", exponent=0, numbers="complex"),
    Law(
        complex_inverse_is_maintained,
        "docs/decisions/0053, on Krasulina paper, Algorithm 1",
        exponent=2,
        shape="own",
        numbers="complex",
    ),
)
