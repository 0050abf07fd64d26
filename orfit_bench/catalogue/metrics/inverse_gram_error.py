"""Deviation of P from the exact inverse Gram matrix."""

import numpy as np

from orfit_bench.catalogue.metrics.a_priori_error import known
from orfit_bench.catalogue.metrics.deviation import learned_once
from orfit_bench.spec.data import Array
from orfit_bench.spec.law import deviation
from orfit_bench.spec.metric import Metric, Record


def measure(record: Record) -> float | None:
    """Deviation of P on the span of the learned rows; None if the method declares no inverse Gram matrix.

    Outside of that span, P depends only on the prior, and grows without bound with forgetting.
    """
    learner = record.learner
    if learner.method.theory.inverse_gram is None or not learned_once(record):
        return None
    name, rows = learner.method.theory.inverse_gram
    X = np.asarray(record.data.X, float)
    A = rows(X[known(record)] if learner.method.traits.gaps else X, learner.settings)
    if A is None:
        return None
    try:
        P = learner.array(name).astype(float)
    except KeyError:  # these settings need none
        return None
    U = span(X)
    return deviation(U.T @ P @ U, inverse(A, U))


def span(X: Array) -> Array:
    """(d, k) an orthonormal basis of the span of the rows of X (n, d)."""
    _, values, Vt = np.linalg.svd(X, full_matrices=False)
    rank = int((values > max(X.shape) * np.finfo(float).eps * values.max(initial=0.0)).sum())
    return np.asarray(Vt[:rank].T)


def inverse(A: Array, U: Array) -> Array:
    """U'(A'A)^-1 U (k, k) for A (m, d) of full column rank and U (d, k): A = QR, so it is Z'Z with R'Z = U."""
    from scipy.linalg import solve_triangular

    Z = solve_triangular(np.linalg.qr(A, mode="r"), U, trans="T")
    return np.asarray(Z.T @ Z)


METRIC = Metric(
    name="inverse_gram_error",
    unit="relative",
    summary="deviation of P from the inverse Gram matrix",
    formula="max |U'(P - (A'A)^-1)U| / max |U'(A'A)^-1 U|, U an orthonormal basis of the rows' span, "
    "A the weighted rows with the prior's, factorised once by QR",
    source="the method's declaration; survey, eq. (10) for rls",
    better="lower",
    measure=measure,
    tolerated=9.0,  # a factor of ten: rounding errors add up in another order on another machine
    floor=1e-12,
    memory=lambda record: 32.0 * record.data.size,  # copies of the rows
)
