"""Laws of ORFit: theorems of the thesis about its weights; theorems about its memory are in `orfit_memory`."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.helpers import condition, final_weights, learn_in_parts, measure_min_norm
from orfit_bench.catalogue.laws.orfit_memory import (
    SUMMARIES,
    fits_with_full_memory,
    least_worst_case_forgetting,
    memory_equals_incremental_svd,
    orthogonal_rows_keep_their_norms,
    overflowing_memory_is_refused,
    random_memory_is_uniform,
    residual_summaries,
)
from orfit_bench.catalogue.shared.lengths import unit_rows
from orfit_bench.spec.law import Law, Measured, Rows, deviation, nan_max
from orfit_bench.spec.model import Model


def min_norm_interpolation(create: Any, rows: Rows) -> Measured:
    """The weights are the smallest that fit all rows, with unlimited memory and with a limit that is not reached."""
    unlimited = measure_min_norm(create(), rows)
    limited = measure_min_norm(create(memory=len(rows.X)), rows)
    return Measured(nan_max(unlimited.deviation, limited.deviation), unlimited.n, unlimited.condition)


def min_norm_in_batches(create: Any, rows: Rows) -> Measured:
    """In batches of three, the weights are the smallest that fit all rows, for every summary that holds all rows."""
    want, worst = np.linalg.pinv(rows.X) @ rows.y[:, None], 0.0
    for more in ({}, *({"summary": s, "memory": len(rows.X)} for s in SUMMARIES)):
        learner = create(batch_size=3, **more).partial_fit(rows.X, rows.y).flush()
        worst = nan_max(worst, deviation(final_weights(learner), want))
    return Measured(worst, len(rows.X), condition(rows.X))


def minimal_change_step(create: Any, rows: Rows) -> Measured:
    """Each step is the smallest change that fits the new row and keeps all earlier rows fitted."""
    X, y, _ = rows
    learner, w, worst = create(), np.zeros((X.shape[1], 1)), 0.0
    for t in range(1, len(X) + 1):
        want = w + np.linalg.pinv(X[:t]) @ (y[:t, None] - X[:t] @ w)
        w = final_weights(learner.partial_fit(X[t - 1 : t], y[t - 1 : t]))
        worst = nan_max(worst, deviation(w, want))
    return Measured(worst, len(X), condition(X))


def dependent_rows_in_a_batch(create: Any, rows: Rows) -> Measured:
    """In a batch, zero rows and rows in the span of the memory change nothing; dependent rows fit by least squares."""
    worst = 0.0
    for scale in (2.0**-20, 1.0, 2.0**20):
        X, y = rows.X[:5] * scale, rows.y[:5]
        learner = create(batch_size=5).partial_fit(X[:3], y[:3]).flush()
        A, t = np.array([0 * X[0], X[3], 2 * X[3], X[4] / 2, X[0] - X[1]]), np.array([9.0, 1.0, 5.0, 2.0, 100.0])
        w = np.linalg.pinv(X[:3]) @ y[:3]
        free = A[1:4] - (A[1:4] @ np.linalg.pinv(X[:3])) @ X[:3]
        want = w + np.linalg.pinv(free, rcond=1e-5) @ (t - A @ w)[1:4]
        worst = nan_max(worst, deviation(final_weights(learner.partial_fit(A, t))[:, 0], want))
    return Measured(worst, 8, condition(rows.X[:5]))


def nearly_dependent_row_is_skipped(create: Any, rows: Rows) -> Measured:
    """A row in the span of the stored rows, up to three quarters of its digits, is dependent and changes nothing."""
    X, y, _ = rows
    learner = create().partial_fit(X[:3], y[:3])
    want = np.linalg.pinv(X[:3]) @ y[:3]
    eps = float(np.finfo(learner.array("w").dtype).eps)
    near = X[0] + eps**0.75 * np.linalg.norm(X[0]) * X[3] / np.linalg.norm(X[3])
    return Measured(deviation(final_weights(learner.partial_fit([near], [100.0]))[:, 0], want), 4, condition(X[:3]))


def outputs_are_independent(create: Any, rows: Rows) -> Measured:
    """Several outputs of a linear model share one basis, and are learned as with separate learners."""
    X, y, seed = rows
    Y = np.column_stack([y, np.random.default_rng(seed).standard_normal((len(X), 2))])
    together = final_weights(create().partial_fit(X, Y))
    return Measured(deviation(together, np.linalg.pinv(X) @ Y), len(X), condition(X))


def vector_valued_model(create: Any, rows: Rows) -> Measured:
    """For a model with c outputs, linear in w, batches make the smallest change that fits all c n gradients."""
    X, y, c = rows.X[:8], rows.y[:8], 2
    p = X.shape[1]
    Y = np.column_stack([y, y[::-1]])
    mix = np.linalg.qr(np.random.default_rng(rows.seed).standard_normal((p, p)))[0]

    def both(w: Any, x: Any, axis: int) -> Any:
        """The row or rows for the first output, and those for the other output."""
        xp = w.__array_namespace__()
        return xp.stack([x, x @ xp.asarray(mix, dtype=w.dtype)], axis=axis)

    features = Model(
        "features",
        predict=lambda w, X: both(w, X, 1) @ w,
        jacobian=lambda w, x: both(w, x, 0),
        parameters=lambda d, c: d,
    )
    start = np.linspace(0.1, 0.2, p)
    got = final_weights(create(model=features, initial_weights=start, batch_size=3).partial_fit(X, Y).flush())[:, 0]
    G = np.stack([X, X @ mix], axis=1).reshape(c * len(X), p)  # (c n, p) gradients
    want = start + np.linalg.pinv(G) @ (Y.ravel() - G @ start)
    return Measured(deviation(got, want), c * len(X), condition(G))


def linearized_constraints(create: Any, rows: Rows) -> Measured:
    """On a nonlinear model, w_i is the point nearest to w_0 that fits all rows, linearized when they arrived."""
    X = unit_rows(rows.X[:8])
    y = np.tanh(rows.y[:8] / (1 + abs(rows.y).max()))
    learner = create(model=CURVED, initial_weights=np.linspace(0.1, 0.2, X.shape[1]))
    w0 = w = np.linspace(0.1, 0.2, X.shape[1])
    gradients, constants = [], []
    for x, t in zip(X, y, strict=True):
        g = CURVED.jacobian(w, x)[0]
        gradients.append(g)
        constants.append(t - CURVED.predict(w, x[None])[0, 0] + g @ w)
        w = final_weights(learner.partial_fit(x[None], [t]))[:, 0]
    A = np.array(gradients)
    want = w0 + np.linalg.pinv(A) @ (np.array(constants) - A @ w0)
    return Measured(deviation(w, want), len(X), condition(A))


def merge_is_exact(create: Any, rows: Rows) -> Measured:
    """Learners of parts of the rows, in batches, merge into the smallest weights that fit all rows."""
    X, y, _ = rows
    merged = learn_in_parts(lambda: create(batch_size=2), X, y, cuts=(6, 14))
    return Measured(deviation(final_weights(merged)[:, 0], np.linalg.pinv(X) @ y), len(X), condition(X))


CURVED = Model(
    "curved",
    predict=lambda w, X: (X @ w + 0.1 * (X @ w) ** 3)[:, None],
    jacobian=lambda w, x: ((1 + 0.3 * (x @ w) ** 2) * x)[None, ...],
    parameters=lambda d, c: d,
)
"""f(x; w) = z + z^3 / 10 with z = x'w: the smallest model whose gradients depend on w."""


LAWS = (
    Law(min_norm_interpolation, "thesis, Proposition 2 and Theorem 3; survey, (ORFit)", exponent=1, shape="wide"),
    Law(min_norm_in_batches, "thesis, Theorem 3", exponent=1, shape="wide"),
    Law(minimal_change_step, "thesis, Proposition 5", exponent=1, shape="wide"),
    Law(fits_with_full_memory, "thesis, eq. (3.2)", exponent=1, shape="wide"),
    Law(least_worst_case_forgetting, "thesis, Proposition 8", exponent=0, shape="wide"),
    Law(memory_equals_incremental_svd, "thesis, eq. (3.3) and (3.4)", exponent=1, shape="wide"),
    Law(overflowing_memory_is_refused, "thesis, eq. (3.4)", exponent=0, shape="own"),
    Law(orthogonal_rows_keep_their_norms, "thesis, section 5.1", exponent=0, shape="own"),
    Law(random_memory_is_uniform, "thesis, section 5.1", exponent=0, shape="wide"),
    Law(residual_summaries, "conference paper, Algorithm 1; thesis, section 5.1", exponent=1, shape="wide"),
    Law(dependent_rows_in_a_batch, "thesis, Theorem 3, of rows that are not independent", exponent=2, shape="wide"),
    Law(
        nearly_dependent_row_is_skipped,
        "thesis, Proposition 2, of rows that are not independent",
        exponent=1,
        shape="wide",
    ),
    Law(outputs_are_independent, "thesis, Remark 3", exponent=1, shape="wide"),
    Law(vector_valued_model, "thesis, Theorem 3", exponent=1, shape="wide"),
    Law(merge_is_exact, "thesis, Theorem 3", exponent=1, shape="wide"),
    Law(linearized_constraints, "thesis, Theorem 9", exponent=1, shape="wide"),
)
