"""Laws of RLS in the square-root form, and of directional forgetting (SIFt-RLS)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.helpers import condition, final_weights, learn_in_parts, weakest_energy
from orfit_bench.catalogue.shared.information_roots import solve_directional
from orfit_bench.catalogue.shared.least_squares import weighted_rows
from orfit_bench.spec.law import Law, Measured, Rows, deviation, nan_max

SQUARE_ROOT = "Bjorck, Numerical Methods for Least Squares Problems, section 3.2"
SIFT = "Lai and Bernstein, arXiv 2404.10844"


def square_root_is_the_triangular_factor(create: Any, rows: Rows) -> Measured:
    """Root and weights equal those of one QR factorization of the weighted rows with the prior."""
    prior = weakest_energy(rows.X)
    worst, cond = 0.0, condition(rows.X)
    for ff, n in ((0.97, len(rows.X)), (1.0, len(rows.X) - 1), (1.02, len(rows.X))):  # a row turns signs around
        X, y = rows.X[:n], rows.y[:n]
        learner = create(form="square_root", ridge=prior, forgetting_factor=ff).partial_fit(X, y)
        A, b = weighted_rows(X, y[:, None], prior, ff)
        R = np.linalg.qr(A, mode="r")
        R *= np.sign(np.diagonal(R))[:, None] * max(1, ff ** (len(X) / 2))  # the rows of A are scaled by the largest
        found = deviation(final_weights(learner), np.linalg.lstsq(A, b, rcond=None)[0])
        worst = nan_max(worst, found, deviation(learner.array("root"), R))
        cond = max(cond, condition(A))
    return Measured(worst, len(rows.X), cond)


def square_root_without_a_prior(create: Any, rows: Rows) -> Measured:
    """Without a prior, a first block of full rank and the rows after it give the full least-squares solution."""
    X, y, _ = rows
    d = X.shape[1]
    learner = create(form="square_root", ridge=0.0).step(X[: 4 * d], y[: 4 * d])
    learner.partial_fit(X[4 * d :], y[4 * d :])
    want = np.linalg.lstsq(X, y[:, None], rcond=None)[0]
    return Measured(deviation(final_weights(learner), want), len(X), condition(X[: 4 * d]))


def loses_digits_with_the_condition_alone(create: Any, rows: Rows) -> Measured:
    """On columns of very different scales, errors grow with the condition number of the rows, not with its square."""
    X, y, _ = rows
    d = X.shape[1]
    learner = create(form="square_root", ridge=1.0)
    eps = float(np.finfo(learner.dtype).eps)
    X = (X * np.geomspace(1, eps**0.4, d)).astype(learner.dtype)
    prior = float(np.square(X[:, -1]).sum())  # that of the smallest column
    learner = create(form="square_root", ridge=prior).partial_fit(X, y)
    A, b = weighted_rows(X.astype(float), y[:, None], prior, 1.0)
    want = np.linalg.lstsq(A, b, rcond=None)[0]
    return Measured(deviation(final_weights(learner), want), len(X), condition(A))


def merge_of_roots_is_exact(create: Any, rows: Rows) -> Measured:
    """Learners of parts of the rows, with columns of very different scales, merge into the weights of all rows."""
    X, y, _ = rows
    bits = int(-0.8 * np.log2(np.finfo(create().dtype).eps))  # a larger range than squares of numbers can represent
    scale = 2.0 ** -np.linspace(0, bits, X.shape[1]).round()
    prior, worst, cond = float(np.square(X[:, -1] * scale[-1]).sum()), 0.0, 1.0
    for ff in (0.97, 1.0, 1.02):
        make = partial(create, form="square_root", ridge=prior, forgetting_factor=ff)
        merged = learn_in_parts(make, X * scale, y, cuts=(5, len(X) // 2))
        A, b = weighted_rows(X * scale, y[:, None], prior, ff)
        want = np.linalg.lstsq(A / scale, b, rcond=None)[0]
        worst = nan_max(worst, deviation(final_weights(merged) * scale[:, None], want))
        cond = max(cond, condition(A / scale))
    return Measured(worst, len(X), cond)


def equals_exponential_forgetting_for_full_blocks(create: Any, rows: Rows) -> Measured:
    """Steps whose rows span all directions forget in all directions: the weights solve the weighted problem."""
    X, y, _ = rows
    d, ff = X.shape[1], 0.9
    N = 2 * d
    blocks = len(X) // N
    X, y = X[: blocks * N], y[: blocks * N]
    prior = weakest_energy(X[:N])
    scale = tiny_scale(create)
    learner = create(forgetting="directional", ridge=scale**2 * prior, forgetting_factor=ff)
    for i in range(0, len(X), N):
        learner.step(scale * X[i : i + N], y[i : i + N])
    weight = np.repeat(ff ** (np.arange(blocks - 1, -1, -1) / 2), N)[:, None]
    A = np.vstack([weight * X, np.sqrt(ff**blocks * prior) * np.eye(d)])
    b = np.vstack([weight * y[:, None], np.zeros((d, 1))])
    want = np.linalg.lstsq(A, b, rcond=None)[0]
    return Measured(deviation(scale * final_weights(learner), want), len(X), condition(A))


def tiny_scale(create: Any) -> float:
    """A power of two below eps, by which rows and the root of their prior are multiplied."""
    return float(2.0 ** round(1.2 * np.log2(np.finfo(create().dtype).eps)))


def forgets_along_the_rows_alone(create: Any, rows: Rows) -> Measured:
    """Weights and information follow the definition: (1 - ff) L x x'L / (x'L x) is forgotten before x is learned."""
    X, y, _ = rows
    prior, worst = weakest_energy(X), 0.0
    for ff in (0.8, 0.98):
        want = solve_directional(X, y[:, None], np.zeros((X.shape[1], 1)), prior, ff)
        for scale in (1.0, tiny_scale(create)):
            learner = create(forgetting="directional", ridge=scale**2 * prior, forgetting_factor=ff)
            learner.partial_fit(scale * X, y)
            worst = nan_max(worst, deviation(scale * final_weights(learner), np.asarray(want)))
    return Measured(worst, len(X), condition(X))


def unobserved_directions_keep_the_prior(create: Any, rows: Rows) -> Measured:
    """The information along unobserved directions stays at ridge, P stays below I / ridge, and weights are exact."""
    X, y, _ = rows
    d = X.shape[1]
    U, ridge = np.linalg.qr(X[:d].T)[0], 0.5  # orthonormal directions
    seen, unseen = U[:, : d // 2], U[:, d // 2 :]
    rows_seen = X @ seen @ seen.T
    learner = create(forgetting="directional", ridge=ridge, forgetting_factor=0.5).partial_fit(rows_seen, y)
    R = learner.array("root").astype(float)
    L = R.T @ R
    size = float(np.linalg.norm(ridge * np.eye(d) + rows_seen.T @ rows_seen, 2))  # L is at most that
    kept = float(np.abs(unseen.T @ L @ unseen - ridge * np.eye(unseen.shape[1])).max())
    below = max(0.0, ridge - float(np.linalg.eigvalsh(L)[0]))
    want = np.asarray(solve_directional(rows_seen, y[:, None], np.zeros((d, 1)), ridge, 0.5))
    found = deviation(final_weights(learner), want)
    return Measured(nan_max(max(kept, below) / size, found), len(X), size / ridge)


def weak_directions_are_not_forgotten(create: Any, rows: Rows) -> Measured:
    """Steps of several rows forget only along directions with an energy of at least |1 - ff| ridge.

    Information and weights follow the definition for rows with energies just above and just below this value.
    """
    rng, d, ridge, worst, cond = np.random.default_rng(rows.seed), 4, 0.5, 0.0, 1.0
    for ff in (0.3, 0.45, 0.97):
        sizes = np.sqrt((1 - ff) * ridge * np.array([1.7, 0.6]))
        learner = create(forgetting="directional", ridge=ridge, forgetting_factor=ff)
        L, w = ridge * np.eye(d), np.zeros((d, 1))
        for _ in range(3):
            F = np.linalg.qr(rng.standard_normal((d, 2)))[0].T
            J, E = np.linalg.qr(rng.standard_normal((3, 2)))[0] @ (sizes[:, None] * F), rng.standard_normal((3, 1))
            learner.step(J, E)
            LF = L @ F[:1].T
            L = L - (1 - ff) * LF @ LF.T / (F[:1] @ LF) + J.T @ J
            w = w + np.linalg.solve(L, J.T @ (E - J @ w))
        R = learner.array("root").astype(float)
        worst = nan_max(worst, deviation(final_weights(learner), w), deviation(R.T @ R, L))
        cond = max(cond, condition(L))
    return Measured(worst, 3 * d * d, cond)


LAWS = (
    Law(square_root_is_the_triangular_factor, SQUARE_ROOT, exponent=1),
    Law(square_root_without_a_prior, SQUARE_ROOT, exponent=1),
    Law(loses_digits_with_the_condition_alone, SQUARE_ROOT, exponent=1),
    Law(merge_of_roots_is_exact, "survey, eq. (10)", exponent=1),
    Law(equals_exponential_forgetting_for_full_blocks, SIFT, exponent=1),
    Law(forgets_along_the_rows_alone, SIFT, exponent=2),
    Law(unobserved_directions_keep_the_prior, SIFT, exponent=1),
    Law(weak_directions_are_not_forgotten, SIFT, exponent=1, shape="own"),
)
