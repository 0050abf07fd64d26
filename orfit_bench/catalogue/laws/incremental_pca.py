"""Laws of incremental PCA."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.complex_numbers import as_real
from orfit_bench.catalogue.laws.subspaces import final_basis
from orfit_bench.spec import Array
from orfit_bench.spec.law import Law, Measured, Rows, deviation, nan_max, to_numpy64


def second_moment(learner: Any) -> Array:
    """U Sigma^2 U' of a learner, which does not depend on the signs of the columns of U."""
    state = learner.state()
    kept = state["basis"].values.astype(float) * state["singular_values"].values
    return np.asarray(kept @ kept.T)


def equals_batch_pca(create: Any, rows: Rows) -> Measured:
    """While the rank is at most k, U Sigma^2 U' is the second moment of all rows and Sigma their singular values."""
    X, worst = rows.X, 0.0
    learner, lo = create(n_components=len(X)), 0
    for size in (1, 1, 5, 4, len(X) - 11):
        learner.step(X[lo : lo + size])
        lo += size
        values = np.zeros(len(X))
        values[:lo] = np.linalg.svd(X[:lo], compute_uv=False)
        found = deviation(learner.array("singular_values"), values)
        worst = nan_max(worst, found, deviation(second_moment(learner), X[:lo].T @ X[:lo]))
    return Measured(worst, 4 * len(X), 1.0)  # a moment is a square, with twice the rounding


def equals_truncated_eigendecomposition(create: Any, rows: Rows) -> Measured:
    """After truncations, U Sigma^2 U' equals the k leading eigenpairs of U Sigma^2 U' + Y Y', row by row."""
    k, gap = 5, np.inf
    want = np.zeros((rows.X.shape[1],) * 2)
    for x in rows.X:
        values, V = np.linalg.eigh(want + np.outer(x, x))
        gap = min(gap, 1 - values[-k - 1] / values[-k] if values[-k] > 0 else np.inf)
        want = (V[:, -k:] * values[-k:]) @ V[:, -k:].T
    found = deviation(second_moment(create(n_components=k).partial_fit(rows.X)), want)
    return Measured(found, len(rows.X), 1 / gap)  # nearly equal values at the cut amplify rounding


def columns_are_orthonormal(create: Any, rows: Rows) -> Measured:
    """The columns of U are orthonormal; unused columns are zero and do not count as components."""
    k, worst = 5, 0.0
    learner, d = create(n_components=k), rows.X.shape[1]
    for n, x in enumerate(rows.X, start=1):
        U = final_basis(learner.partial_fit(x[None]))
        missing = abs(learner.components_.shape[0] - min(n, k))
        worst = nan_max(worst, deviation(U.T @ U, np.diag(np.arange(k) < n)), missing)
    return Measured(worst, d * (k + 1), 1.0)  # number of entries changed by the decomposition of a step


def variances_add_up(create: Any, rows: Rows) -> Measured:
    """With as many components as rows, (n - 1) times the sum of the variances is the energy of the n learned rows."""
    X, worst = rows.X[:9], 0.0
    for batch_size, learned in ((1, 9), (2, 8)):
        learner = create(n_components=len(X), batch_size=batch_size).partial_fit(X)
        energy = (learned - 1) * float(np.sum(to_numpy64(learner.explained_variance_)))
        worst = nan_max(worst, deviation(energy, (X[:learned] ** 2).sum()))
    return Measured(worst, 2 * len(X), 1.0)  # a moment is a square, with twice the rounding


def variances_are_those_of_the_rows(create: Any, rows: Rows) -> Measured:
    """While the rank is at most k, the variances are the eigenvalues of X'X / (n - 1), of X'X for a single row."""
    X, worst = rows.X, 0.0
    learner, done = create(n_components=len(X)), 0
    for n in (1, 2, 3, 7):
        learner.partial_fit(X[done:n])
        want = np.linalg.eigvalsh(X[:n] @ X[:n].T)[::-1] / max(n - 1, 1)
        worst, done = nan_max(worst, deviation(to_numpy64(learner.explained_variance_), want)), n
    return Measured(worst, 2 * len(X), 1.0)  # a moment is a square, with twice the rounding


def rounding_error_is_dropped(create: Any, rows: Rows) -> Measured:
    """Rows along one direction fill one column at any scale; the other columns are exactly zero."""
    x, worst = rows.X[0] / np.linalg.norm(rows.X[0]), 0.0
    for k in (-60, 0, 60):
        A = np.ldexp(np.outer(np.arange(1.0, 8.0) / 3, x), k)
        state = create(n_components=2).partial_fit(A).state()
        Sigma = np.array([np.linalg.norm(A), 0])
        worst = nan_max(
            worst, deviation(state["singular_values"].values, Sigma), float(abs(state["basis"][:, 1]).max())
        )
    return Measured(worst, rows.X.shape[1], 1.0)


def merge_within_rank_is_exact(create: Any, rows: Rows) -> Measured:
    """While the rank is at most k, a merged learner has the second moment of the rows of both."""
    X, half = rows.X, len(rows.X) // 2
    one, other = (create(n_components=len(X)).partial_fit(part) for part in (X[:half], X[half:]))
    return Measured(deviation(second_moment(one.merge(other)), X.T @ X), 4 * len(X), 1.0)


def complex_second_moment(create: Any, rows: Rows) -> Measured:
    """On complex rows, while their rank is at most k, U Sigma^2 U^H is X^H X, computed in real arithmetic."""
    X, A = rows.X, as_real(rows.X)
    state = create(n_components=len(X)).partial_fit(X).state()
    kept = as_real(to_numpy64(state["basis"].values) * to_numpy64(state["singular_values"].values))
    return Measured(deviation(kept @ kept.T, A.T @ A), 4 * len(X), 1.0)


LAWS = (
    Law(equals_batch_pca, "Krasulina paper, eq. (2); thesis, eq. (3.3)", exponent=0, shape="wide"),
    Law(equals_truncated_eigendecomposition, "thesis, eq. (3.3) and (3.4)", exponent=1),
    Law(variances_add_up, "Krasulina paper, eq. (2)", exponent=0, shape="wide"),
    Law(variances_are_those_of_the_rows, "Krasulina paper, eq. (2)", exponent=0, shape="wide"),
    Law(rounding_error_is_dropped, "Krasulina paper, incremental PCA", exponent=0),
    Law(columns_are_orthonormal, "Krasulina paper, eq. (6)", exponent=0),
    Law(merge_within_rank_is_exact, "Krasulina paper, eq. (2)", exponent=0, shape="wide"),
    Law(
        complex_second_moment,
        "docs/decisions/0053, on Krasulina paper, eq. (2)",
        exponent=0,
        shape="wide",
        numbers="complex",
    ),
)
