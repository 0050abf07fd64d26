"""Theorems of the sources that do not involve a learner; other laws build on them.

A check does not create a learner (`create` is not used) and computes both sides of its statement independently.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.shared.lengths import unit_rows
from orfit_bench.spec import Array
from orfit_bench.spec.law import Law, Measured, Rows, deviation, nan_max


def nested_projections_reach_the_minimum(create: Any, rows: Rows) -> Measured:
    """Successive Bregman projections onto nested affine constraints reach the global minimum."""
    rng = np.random.default_rng(rows.seed)
    A = np.linalg.qr(unit_rows(rows.X[:4]).T)[0].T  # (4, d) constraints; step i uses the first i
    start = np.asarray(0.3 * rng.standard_normal(A.shape[1]))
    b = A @ (start + 0.5 * rng.standard_normal(A.shape[1]))
    w, worst = start, 0.0
    for i in range(1, 5):
        w = bregman_projection(A[:i], b[:i], w, start)
        worst = nan_max(worst, deviation(w, bregman_projection(A[:i], b[:i], start, start)))
    return Measured(worst, A.shape[1], float(np.cosh(abs(w - start).max())))


def bregman_projection(A: Array, b: Array, v: Array, w0: Array) -> Array:
    """The Bregman projection of v onto A w = b for rho(w) = sum cosh(w - w0), by Newton's method in the dual.

    There grad rho(w) = grad rho(v) + A'z, so that w = w0 + arcsinh(sinh(v - w0) + A'z).
    """
    z, w = np.zeros(len(A)), v
    for _ in range(50):
        w = w0 + np.arcsinh(np.sinh(v - w0) + A.T @ z)
        z = z - np.linalg.solve((A / np.cosh(w - w0)) @ A.T, A @ w - b)
    return w


def courant_fischer_min_max(create: Any, rows: Rows) -> Measured:
    """The k-th eigenvalue is the min-max of x'Ax over subspaces of dimension k, and max-min for codimension k - 1."""
    rng, d = np.random.default_rng(rows.seed), 8
    A = unit_rows(rows.X)[:, :d].T @ unit_rows(rows.X)[:, :d]
    values, U = np.linalg.eigh(A)
    worst = 0.0
    for k in range(1, d + 1):
        attained = _extremes(A, U[:, :k])[1], _extremes(A, U[:, k - 1 :])[0]
        worst = nan_max(worst, *(abs(a - values[k - 1]) for a in attained))
        for _ in range(5):  # no other subspace attains less, or more
            upper = _extremes(A, rng.standard_normal((d, k)))[1]
            lower = _extremes(A, rng.standard_normal((d, d - k + 1)))[0]
            worst = nan_max(worst, values[k - 1] - upper, lower - values[k - 1])
    return Measured(worst / values[-1], d, 1.0)


def _extremes(A: Array, W: Array) -> tuple[float, float]:
    """Smallest and largest x'Ax over unit vectors x in the span of W."""
    Q = np.linalg.qr(W)[0]
    values = np.linalg.eigvalsh(Q.T @ A @ Q)
    return float(values[0]), float(values[-1])


def gaussian_conditioning(create: Any, rows: Rows) -> Measured:
    """The distribution of a given b = X'a + noise is Gaussian with the mean and covariance of eq. (13).

    The expected values come from blocks of the joint precision matrix.
    """
    a, m = 4, 3
    X, rng = unit_rows(rows.X)[:m, :a].T, np.random.default_rng(rows.seed)
    S_a, S_w = _random_spd(rng, a), _random_spd(rng, m)
    mu, b = rng.standard_normal(a), rng.standard_normal(m)
    gain = S_a @ X @ np.linalg.inv(S_w + X.T @ S_a @ X)
    got = mu - gain @ (X.T @ mu - b), S_a - gain @ X.T @ S_a
    joint = np.block([[S_a, S_a @ X], [X.T @ S_a, X.T @ S_a @ X + S_w]])
    precision = np.linalg.inv(joint)
    covariance = np.linalg.inv(precision[:a, :a])
    want = mu - covariance @ precision[:a, a:] @ (b - X.T @ mu), covariance
    return Measured(nan_max(*map(deviation, got, want)), a + m, float(np.linalg.cond(joint)))


def woodbury_identity(create: Any, rows: Rows) -> Measured:
    """The inverse of a matrix after a change of rank m follows from its inverse and an m x m inverse."""
    rng, d, m = np.random.default_rng(rows.seed), 6, 2
    X = unit_rows(rows.X)[:m, :d].T
    F, B = _random_spd(rng, d), _random_spd(rng, m)
    inverse = np.linalg.inv(F)
    got = inverse - inverse @ X @ np.linalg.solve(B + X.T @ inverse @ X, X.T @ inverse)
    changed = F + X @ np.linalg.solve(B, X.T)
    return Measured(deviation(got @ changed, np.eye(d)), d, float(np.linalg.cond(F) * np.linalg.cond(B)))


def compression_loss_is_uncaptured_variance(create: Any, rows: Rows) -> Measured:
    """For orthonormal C the compression loss is the total variance minus the variance that C captures."""
    Y, k = unit_rows(rows.X).T, 3
    C = np.linalg.qr(np.random.default_rng(rows.seed).standard_normal((len(Y), k)))[0]
    loss = np.sum((C @ (C.T @ Y) - Y) ** 2) / Y.shape[1]
    moment = Y @ Y.T / Y.shape[1]
    return Measured(deviation(loss, np.trace(moment) - np.trace(C.T @ moment @ C)), Y.shape[1], 1.0)


def weighted_mean_minimizes_distances(create: Any, rows: Rows) -> Measured:
    """The weighted mean of several C minimizes the weighted sum of squared distances (truth: least squares)."""
    rng = np.random.default_rng(rows.seed)
    models, alpha = rng.standard_normal((4, 6)), rng.uniform(0.5, 2.0, 4)
    root = np.sqrt(alpha)[:, None]
    nearest = np.linalg.lstsq(np.kron(root, np.eye(6)), (root * models).ravel(), rcond=None)[0]
    return Measured(deviation(alpha @ models / alpha.sum(), nearest), 24, 2.0)


def _random_spd(rng: np.random.Generator, n: int) -> Array:
    """A random positive definite matrix with condition number 10."""
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    matrix: Array = (Q * np.linspace(0.1, 1, n)) @ Q.T
    return matrix


THEOREMS = (
    Law(nested_projections_reach_the_minimum, "thesis, Theorem 6", exponent=1, shape="wide"),
    Law(courant_fischer_min_max, "thesis, Lemma 7", exponent=0),
    Law(gaussian_conditioning, "survey, Lemma 2", exponent=1),
    Law(
        woodbury_identity, "survey, eq. (9); least-squares notes, eq. (1); slides, Sherman-Woodbury formula", exponent=1
    ),
    Law(compression_loss_is_uncaptured_variance, "Krasulina paper, eq. (6) and (7)", exponent=0),
    Law(weighted_mean_minimizes_distances, "Krasulina paper, eq. (18)", exponent=1, shape="own"),
)
