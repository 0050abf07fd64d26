"""Laws of ORFit's limited memory: the directions that each summary keeps."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.helpers import condition, is_refused, measure_row_fit
from orfit_bench.spec import Array
from orfit_bench.spec.law import Measured, Rows, deviation, nan_max

SUMMARIES = ("ipca", "largest", "latest", "random")


def fits_with_full_memory(create: Any, rows: Rows) -> Measured:
    """The new row is fitted exactly with any summary and any size of the memory."""
    wide = Rows(rows.X[:15], rows.y[:15], rows.seed)
    found = [measure_row_fit(create(memory=4, summary=s), wide) for s in SUMMARIES]
    return Measured(nan_max(*(f.deviation for f in found)), 15, condition(wide.X))


def least_worst_case_forgetting(create: Any, rows: Rows) -> Measured:
    """With one row more than the memory holds, the worst-case forgetting is the least possible, sigma_(m+1)^2."""
    X, y, _ = rows
    m = len(X) - 1
    U = np.asarray(create(memory=m).partial_fit(X, y).array("basis"), float).T
    values = np.linalg.svd(X, compute_uv=False)
    worst = np.linalg.norm(X - (X @ U) @ U.T, 2)  # max |X z| over unit z off the memory
    return Measured(abs(float(worst - values[-1])) / float(values[0]), len(X), 1.0)


def memory_equals_incremental_svd(create: Any, rows: Rows) -> Measured:
    """After truncations, memory and weights equal those of dense SVDs of [U Sigma, g], row by row."""
    X, y, seed = rows
    Y = np.column_stack([y, np.random.default_rng(seed).standard_normal(len(y))])
    m, w, kept, gap = 5, np.zeros((X.shape[1], 2)), np.zeros((X.shape[1], 0)), np.inf
    for x, t in zip(X, Y, strict=True):
        r = x - kept @ np.linalg.lstsq(kept, x, rcond=None)[0] if kept.size else x
        w = w + np.outer(r, t - x @ w) / (x @ r)
        U, sigma, _ = np.linalg.svd(np.column_stack([kept, x]), full_matrices=False)
        gap = min(gap, 1 - sigma[m] / sigma[m - 1]) if len(sigma) > m else gap
        kept = U[:, :m] * sigma[:m]
    state = create(memory=m).partial_fit(X, Y).state()
    got = state["basis"].values.T * state["singular_values"].values
    found = nan_max(deviation(got @ got.T, kept @ kept.T), deviation(state["w"].values, w))
    return Measured(found, len(X), max(1 / gap, condition(X)))  # nearly equal values at the cut amplify rounding


def residual_summaries(create: Any, rows: Rows) -> Measured:
    """The summaries `largest` and `latest` keep the largest and the latest residuals (truth: least squares)."""
    X, y, _ = rows
    m, worst = 5, _latest_of_batches(create, rows)
    for summary in ("largest", "latest"):
        kept: list[Array] = []
        for x in X:
            A = np.array(kept).reshape(-1, X.shape[1]).T
            kept.append(x - A @ np.linalg.lstsq(A, x, rcond=None)[0] if kept else x)
            if len(kept) > m:
                kept.pop(int(np.argmin([r @ r for r in kept])) if summary == "largest" else 0)
        state = create(memory=m, summary=summary).partial_fit(X, y).state()
        U = np.asarray(state["basis"].values, float).T
        norms = np.sort(np.linalg.norm(kept, axis=1))
        worst = nan_max(worst, deviation(U @ U.T, sum(np.outer(r, r) / (r @ r) for r in kept)))
        worst = nan_max(worst, deviation(np.sort(state["singular_values"].values), norms))
    return Measured(worst, len(X), condition(X))


def _latest_of_batches(create: Any, rows: Rows) -> float:
    """The deviation in batches of two; the weight of a direction is the norm of both residuals along it."""
    X, y = rows.X[:4], rows.y[:4]
    state = create(memory=2, summary="latest", batch_size=2).partial_fit(X, y).state()
    first, last = X[:2].T, X[2:].T
    R = np.linalg.qr(last - first @ np.linalg.lstsq(first, last, rcond=None)[0])[1]
    return deviation(state["singular_values"].values, np.linalg.norm(R, axis=1))


def orthogonal_rows_keep_their_norms(create: Any, rows: Rows) -> Measured:
    """Each summary keeps the directions and norms of orthogonal rows; rows of a batch add up along a direction."""
    sizes, worst = 2.0 ** np.array([1, 4, 0, 5, 2, 3]), 0.0
    X, y = np.diag(sizes), np.ones(len(sizes))
    for summary in SUMMARIES:
        for batch_size in (1, 2):
            state = create(memory=3, summary=summary, batch_size=batch_size).partial_fit(X, y).state()
            U, sigma = np.abs(state["basis"].values), state["singular_values"].values
            of = U.argmax(axis=1)
            single = 0.0 if len(set(of.tolist())) == len(of) == 3 else np.inf
            worst = nan_max(worst, deviation(U, np.eye(len(X))[of]), deviation(sigma, sizes[of]), single)
    pair = np.array([[3.0, 0.0], [4.0, 2.0]])  # the rows have 3 and 4 along the first direction
    for summary in ("latest", "random"):
        state = create(memory=3, summary=summary, batch_size=2).partial_fit(pair, np.ones(2)).state()
        worst = nan_max(worst, deviation(state["singular_values"].values, np.array([5.0, 2.0])))
    return Measured(worst, len(X), 1.0)


def random_memory_is_uniform(create: Any, rows: Rows) -> Measured:
    """The summary `random` drops each direction equally often, within five standard deviations of chance."""
    X, y, _ = rows
    m, dropped = 3, []
    for seed in range(30):
        learner = create(memory=m, summary="random", random_state=seed).partial_fit(X[:m], y[:m])
        for i in range(m, len(X)):
            before = learner.array("basis")
            after = learner.partial_fit(X[i : i + 1], y[i : i + 1]).array("basis")
            lost = [j for j, u in enumerate(before) if abs(after @ u).max() < 0.9]  # both bases have orthonormal rows
            dropped.append(lost[0] if lost else m)
    n, share = len(dropped), np.bincount(dropped, minlength=m + 1) / len(dropped)
    chance = np.sqrt(m / n) / (m + 1)  # standard deviation of a share
    return Measured(0.0 if abs(share - 1 / (m + 1)).max() < 5 * chance else np.inf, len(X), condition(X))


def overflowing_memory_is_refused(create: Any, rows: Rows) -> Measured:
    """A row that would make a singular value of the memory overflow is refused; weights and memory stay unchanged."""
    learner = create(memory=2).partial_fit(np.zeros((0, 2)), [])
    a = 0.7 * float(np.finfo(learner.array("w").dtype).max)
    before = learner.partial_fit([[a, 0.0]], [0.0]).state()
    kept = is_refused(learner.partial_fit, [[a, a]], [1.0]) and learner.state()["basis"].equals(before["basis"])
    return Measured(0.0 if kept else np.inf, len(rows.X), 1.0)
