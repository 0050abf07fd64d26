"""The implicit form of Krasulina's rule, without orthonormality: an online EM step for k-PCA."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from orfit_bench.catalogue.methods import _subspace as subspace
from orfit_bench.catalogue.methods import _subspace_laws as laws
from orfit_bench.catalogue.methods._batch import Array
from orfit_bench.catalogue.methods._common import condition
from orfit_bench.errors import DivergedError
from orfit_bench.spec.law import Law, Measured, Rows, deviation, largest
from orfit_bench.spec.method import Cost, Field, Method, Settings

CONDITION = laws.free_condition(0.5 * laws.STEP**0.5)
"""A step changes C by at most |y| max_s s / (s^2 + 1/step) = |y| sqrt(step) / 2."""


def one_row(create: Any, rows: Rows) -> Measured:
    """Row by row (13) is (12) with N = 1, its inverse taken densely."""
    step, worst = laws.relative_step(rows), 0.0
    for A, C, found in laws.free_steps(create, rows, step, 1):
        X = np.linalg.pinv(C) @ A.T
        want = (A.T @ X.T + C / step) @ np.linalg.inv(X @ X.T + np.eye(len(X)) / step)
        worst = largest(worst, deviation(found, want))
    return Measured(worst, len(rows.X), CONDITION)


def minimiser(create: Any, rows: Rows) -> Measured:
    """A step (12) minimises |C~ - C|^2 / step + mean |C~ x - y|^2 over C~, which is one least-squares problem."""
    step, worst = laws.relative_step(rows), 0.0
    for A, C, found in laws.free_steps(create, rows, step):
        X = np.linalg.pinv(C) @ A.T
        system = np.vstack([np.sqrt(step / len(A)) * X.T, np.eye(len(X))])
        want = np.linalg.lstsq(system, np.vstack([np.sqrt(step / len(A)) * A, C.T]), rcond=None)[0].T
        worst = largest(worst, deviation(found, want))
    return Measured(worst, len(rows.X), CONDITION)


def implicit_gradient(create: Any, rows: Rows) -> Measured:
    """C_new = C - step/N (C_new X - Y) X': the step is along the gradient at its end."""
    step, worst = laws.relative_step(rows), 0.0
    for A, C, found in laws.free_steps(create, rows, step):
        X = np.linalg.pinv(C) @ A.T
        want = C - step / len(A) * (found @ X - A.T) @ X.T
        worst = largest(worst, deviation(found, want))
    return Measured(worst, len(rows.X), CONDITION)


def huge_step(create: Any, rows: Rows) -> Measured:
    """As the step goes to infinity a step of all rows becomes the EM step C <- Y X^+.

    They differ by N/step (Y X^+ - C)(X X' + N/step I)^-1, relatively at most N / (step sigma_min(X)^2): the step is
    taken so large that this is below rounding.
    """
    A, C = rows.X, laws.free_start(rows)
    learner, worst, cond = create(n_components=laws.K, step_size=1e30, initial_basis=C), 0.0, 1.0
    for _ in range(3):
        X = np.linalg.pinv(C) @ A.T
        cond = max(cond, condition(C), condition(X))
        C = np.linalg.lstsq(X.T, A, rcond=None)[0].T
        worst = largest(worst, deviation(laws.basis(learner.step(A)), C))
    return Measured(worst, len(A), cond)


def never_worse(create: Any, rows: Rows) -> Measured:
    """A step of all rows never raises their compression loss: the least it can be at C_new is below what (10) allows.

    mean |C_new x - y|^2 + |C_new - C|^2 / step <= mean |C x - y|^2, where x need not be the best for C_new.
    """
    A, worst, total = rows.X, 0.0, float((rows.X**2).sum())
    for share in (0.1, 10.0, 1000.0):
        start = laws.free_start(rows)
        learner = create(n_components=laws.K, step_size=laws.relative_step(rows, share), initial_basis=start)
        C = [start, *(laws.basis(learner.step(A)) for _ in range(4))]
        losses = [float(((A - A @ np.linalg.pinv(c.T) @ c.T) ** 2).sum()) / total for c in C]
        worst = largest(worst, *np.diff(losses))
    return Measured(worst, len(A), 1.0)


def tiny_step(create: Any, rows: Rows) -> Measured:
    """As the step goes to 0 nothing changes: C moves by at most step |y| |x| a row, here below rounding."""
    step = laws.relative_step(rows, 1e-20)
    *_, (_, _, C) = laws.free_steps(create, rows, step)
    return Measured(deviation(C, laws.free_start(rows)), len(rows.X), 1.0)


def inverse(create: Any, rows: Rows) -> Measured:
    """The inverse changed by rank one gives C^+ = inverse C', found here by the SVD of C, whose rank stays k."""
    step, worst = laws.relative_step(rows), 0.0
    learner = create(n_components=laws.K, step_size=step, initial_basis=laws.free_start(rows))
    for x in rows.X[: laws.ROWS]:
        state = learner.partial_fit(x[None]).state()
        C = state["basis"].values.astype(float)
        want = np.linalg.pinv(C)
        worst = largest(worst, deviation(state["inverse"].values @ C.T, want), deviation(want @ C, np.eye(len(want))))
    return Measured(worst, len(rows.X), CONDITION)


def orthogonal_row(create: Any, rows: Rows) -> Measured:
    """A row orthogonal to C changes neither C nor its inverse, or is refused, however large."""
    start, worst = np.eye(5)[:, :2], 0.0
    for k in range(0, 1000, 50):
        learner = create(n_components=2, initial_basis=start)
        with suppress(DivergedError, ValueError):  # ValueError: no number of this dtype
            learner.partial_fit(np.ldexp(np.eye(5)[2:3], k))
        state = learner.partial_fit(np.zeros((0, 5))).state()
        inverse = state["inverse"].values if state.attrs["t"] else np.eye(2)
        worst = largest(worst, deviation(state["basis"].values, start), deviation(inverse, np.eye(2)))
    return Measured(worst, len(rows.X), 1.0)


def derived(fields: Mapping[str, Array], settings: Settings) -> dict[str, Array]:
    """The inverse that belongs to C."""
    pseudo = np.linalg.pinv(fields["basis"])
    return {"inverse": pseudo @ pseudo.T}


METHOD = Method(
    name="implicit_krasulina",
    summary="implicit form of Krasulina's rule for k-PCA: along the gradient at the step's end, never orthonormalised",
    formulas="x = C^+ y\nC <- C - step/(1 + step |x|^2) (C x - y) x' for one row\n"
    "C <- (Y X'/N + C/step) (X X'/N + I/step)^-1 for the N columns of Y, X = C^+ Y\nnothing is centred",
    source="Krasulina paper, eq. (12) and (13) (corrected: Algorithm 1 hands its rank-one change on with a minus)",
    settings=subspace.settings(0.01),
    fields=(
        subspace.FREE,
        Field(
            "inverse",
            ("n_components", "n_components"),
            "(C'C)^-1, from the first row on: C^+ is it times C'",
            compared="nothing",
        ),
    ),
    cost=Cost(  # an inverse of C'C goes along; C is read, then read and written
        flops=lambda s, z: 6 * s["n_components"] * z["parameter"] + 7 * s["n_components"] ** 2,
        floats=lambda s, z: (1 + 3 * s["n_components"]) * z["parameter"] + 2 * s["n_components"] ** 2,
    ),
    laws=(
        Law(one_row, "Krasulina paper, eq. (12) and (13)", exponent=2),
        Law(minimiser, "Krasulina paper, eq. (10) and (12)", exponent=2),
        Law(implicit_gradient, "Krasulina paper, eq. (11)", exponent=2),
        Law(huge_step, "Krasulina paper, eq. (16)", exponent=2),
        Law(never_worse, "Krasulina paper, eq. (10) and after eq. (16)", exponent=0),
        Law(tiny_step, "Krasulina paper, after eq. (17): the limit of step 0", exponent=0),
        Law(inverse, "Krasulina paper, Algorithm 1", exponent=2),
        Law(orthogonal_row, "Krasulina paper, eq. (13)", exponent=0, shape="own"),
        Law(laws.stationary, "Krasulina paper, eq. (11)", exponent=0),
    ),
    kind="subspace",
    blocks=True,
    averages=("basis",),
    derived=derived,
    merge=subspace.MEAN,
)
