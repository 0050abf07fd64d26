"""Laws of ORFit: what the theses prove of its weights and of its memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.methods._batch import Array
from orfit_bench.catalogue.methods._common import (
    against_min_norm,
    against_rows_fitted,
    condition,
    final_weights,
    refused,
    unit,
)
from orfit_bench.catalogue.methods._merging import in_parts
from orfit_bench.spec.law import Law, Measured, Rows, deviation, largest
from orfit_bench.spec.model import Model

SUMMARIES = ("ipca", "largest", "latest", "random")


def min_norm(create: Any, rows: Rows) -> Measured:
    """The weights are the smallest that fit all rows, with and without a limit that is not reached."""
    unlimited = against_min_norm(create(), rows)
    limited = against_min_norm(create(memory=len(rows.X)), rows)
    return Measured(largest(unlimited.deviation, limited.deviation), unlimited.n, unlimited.condition)


def min_norm_in_batches(create: Any, rows: Rows) -> Measured:
    """The same in batches of three, the last one shorter, with any memory that all rows have room in."""
    want, worst = np.linalg.pinv(rows.X) @ rows.y[:, None], 0.0
    for more in ({}, *({"summary": s, "memory": len(rows.X)} for s in SUMMARIES)):
        learner = create(batch_size=3, **more).partial_fit(rows.X, rows.y).flush()
        worst = largest(worst, deviation(final_weights(learner), want))
    return Measured(worst, len(rows.X), condition(rows.X))


def least_move(create: Any, rows: Rows) -> Measured:
    """Each step is the smallest move that fits the new row and keeps all former ones fitted."""
    X, y, _ = rows
    learner, w, worst = create(), np.zeros((X.shape[1], 1)), 0.0
    for t in range(1, len(X) + 1):
        want = w + np.linalg.pinv(X[:t]) @ (y[:t, None] - X[:t] @ w)
        w = final_weights(learner.partial_fit(X[t - 1 : t], y[t - 1 : t]))
        worst = largest(worst, deviation(w, want))
    return Measured(worst, len(X), condition(X))


def fits_with_full_memory(create: Any, rows: Rows) -> Measured:
    """The new row is fitted exactly, however little is remembered, by every summary."""
    wide = Rows(rows.X[:15], rows.y[:15], rows.seed)
    found = [against_rows_fitted(create(memory=4, summary=s), wide) for s in SUMMARIES]
    return Measured(largest(*(f.deviation for f in found)), 15, condition(wide.X))


def principal_directions(create: Any, rows: Rows) -> Measured:
    """With one row more than memory, the worst-case forgetting of the memory is the least possible, sigma_(m+1)^2."""
    X, y, _ = rows
    m = len(X) - 1
    U = np.asarray(create(memory=m).partial_fit(X, y).state()["basis"].values, float).T
    values = np.linalg.svd(X, compute_uv=False)
    worst = np.linalg.norm(X - (X @ U) @ U.T, 2)  # max |X z| over unit z off the memory
    return Measured(abs(float(worst - values[-1])) / float(values[0]), len(X), 1.0)


def incremental_svd(create: Any, rows: Rows) -> Measured:
    """After truncations too memory and weights are those of dense SVDs of [U Sigma, g], row after row."""
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
    found = largest(deviation(got @ got.T, kept @ kept.T), deviation(state["w"].values, w))
    return Measured(found, len(X), max(1 / gap, condition(X)))  # a near tie at the cut amplifies rounding


def residual_memories(create: Any, rows: Rows) -> Measured:
    """Summaries largest and latest keep the residuals that their names say, found here by least squares."""
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
        worst = largest(worst, deviation(U @ U.T, sum(np.outer(r, r) / (r @ r) for r in kept)))
        worst = largest(worst, deviation(np.sort(state["singular_values"].values), norms))
    return Measured(worst, len(X), condition(X))


def _latest_of_batches(create: Any, rows: Rows) -> float:
    """Off by how much, in batches of two: a direction counts as much as both rows' residuals have of it."""
    X, y = rows.X[:4], rows.y[:4]
    state = create(memory=2, summary="latest", batch_size=2).partial_fit(X, y).state()
    first, last = X[:2].T, X[2:].T
    R = np.linalg.qr(last - first @ np.linalg.lstsq(first, last, rcond=None)[0])[1]
    return deviation(state["singular_values"].values, np.linalg.norm(R, axis=1))


def dependent_rows(create: Any, rows: Rows) -> Measured:
    """In a batch, zeros and what memory spans are left alone, rows that depend on others fitted in least squares."""
    worst = 0.0
    for scale in (2.0**-20, 1.0, 2.0**20):
        X, y = rows.X[:5] * scale, rows.y[:5]
        learner = create(batch_size=5).partial_fit(X[:3], y[:3]).flush()
        A, t = np.array([0 * X[0], X[3], 2 * X[3], X[4] / 2, X[0] - X[1]]), np.array([9.0, 1.0, 5.0, 2.0, 100.0])
        w = np.linalg.pinv(X[:3]) @ y[:3]
        free = A[1:4] - (A[1:4] @ np.linalg.pinv(X[:3])) @ X[:3]
        want = w + np.linalg.pinv(free, rcond=1e-5) @ (t - A @ w)[1:4]
        worst = largest(worst, deviation(final_weights(learner.partial_fit(A, t))[:, 0], want))
    return Measured(worst, 8, condition(rows.X[:5]))


def nearly_dependent_row(create: Any, rows: Rows) -> Measured:
    """A row that the remembered ones span to three quarters of its digits is dependent: it moves nothing."""
    X, y, _ = rows
    learner = create().partial_fit(X[:3], y[:3])
    want = np.linalg.pinv(X[:3]) @ y[:3]
    eps = float(np.finfo(learner.state()["w"].dtype).eps)
    near = X[0] + eps**0.75 * np.linalg.norm(X[0]) * X[3] / np.linalg.norm(X[3])
    return Measured(deviation(final_weights(learner.partial_fit([near], [100.0]))[:, 0], want), 4, condition(X[:3]))


def random_memory(create: Any, rows: Rows) -> Measured:
    """Summary random drops each of the directions equally often, to five standard deviations of chance."""
    X, y, _ = rows
    m, dropped = 3, []
    for seed in range(30):
        learner = create(memory=m, summary="random", random_state=seed).partial_fit(X[:m], y[:m])
        for i in range(m, len(X)):
            before = learner.state()["basis"].values
            after = learner.partial_fit(X[i : i + 1], y[i : i + 1]).state()["basis"].values
            lost = [j for j, u in enumerate(before) if abs(after @ u).max() < 0.9]  # the rows of both are orthonormal
            dropped.append(lost[0] if lost else m)
    n, share = len(dropped), np.bincount(dropped, minlength=m + 1) / len(dropped)
    chance = np.sqrt(m / n) / (m + 1)  # a share's standard deviation
    return Measured(0.0 if abs(share - 1 / (m + 1)).max() < 5 * chance else np.inf, len(X), condition(X))


def memory_that_overflows(create: Any, rows: Rows) -> Measured:
    """A row with which a singular value of the memory leaves the floats is refused, and leaves weights and memory."""
    learner = create(memory=2).partial_fit(np.zeros((0, 2)), [])
    a = 0.7 * float(np.finfo(learner.state()["w"].dtype).max)
    before = learner.partial_fit([[a, 0.0]], [0.0]).state()
    kept = refused(learner.partial_fit, [[a, a]], [1.0]) and learner.state()["basis"].equals(before["basis"])
    return Measured(0.0 if kept else np.inf, len(rows.X), 1.0)


def outputs_apart(create: Any, rows: Rows) -> Measured:
    """Several outputs of a linear model share one basis and learn as so many learners side by side."""
    X, y, seed = rows
    Y = np.column_stack([y, np.random.default_rng(seed).standard_normal((len(X), 2))])
    together = final_weights(create().partial_fit(X, Y))
    return Measured(deviation(together, np.linalg.pinv(X) @ Y), len(X), condition(X))


def vector_outputs(create: Any, rows: Rows) -> Measured:
    """A model of c outputs linear in its weights, in batches: the smallest move that fits all, c rows a sample."""
    X, y, c = rows.X[:8], rows.y[:8], 2
    p = X.shape[1]
    Y = np.column_stack([y, y[::-1]])
    mix = np.linalg.qr(np.random.default_rng(rows.seed).standard_normal((p, p)))[0]

    def both(w: Any, x: Any, axis: int) -> Any:
        """The row, or rows, and what the other output sees of them."""
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


def linearised(create: Any, rows: Rows) -> Measured:
    """On a nonlinear model w_i is the point nearest to w_0 that fits all rows as linearised when they came."""
    X = unit(rows.X[:8])
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


def merges(create: Any, rows: Rows) -> Measured:
    """Learners of a part of the rows each, in batches, merge into the smallest weights that fit all rows."""
    X, y, _ = rows
    merged = in_parts(lambda: create(batch_size=2), X, y, cuts=(6, 14))
    return Measured(deviation(final_weights(merged)[:, 0], np.linalg.pinv(X) @ y), len(X), condition(X))


CURVED = Model(
    "curved",
    predict=lambda w, X: (X @ w + 0.1 * (X @ w) ** 3)[:, None],
    jacobian=lambda w, x: ((1 + 0.3 * (x @ w) ** 2) * x)[None],
    parameters=lambda d, c: d,
)
"""f(x; w) = z + z^3 / 10 with z = x'w: the smallest model whose gradients depend on w."""


LAWS = (
    Law(min_norm, "thesis, Proposition 2 and Theorem 3; survey, (ORFit)", exponent=1, shape="wide"),
    Law(min_norm_in_batches, "thesis, Theorem 3", exponent=1, shape="wide"),
    Law(least_move, "thesis, Proposition 5", exponent=1, shape="wide"),
    Law(fits_with_full_memory, "thesis, eq. (3.2)", exponent=1, shape="wide"),
    Law(principal_directions, "thesis, Proposition 8", exponent=0, shape="wide"),
    Law(incremental_svd, "thesis, eq. (3.3) and (3.4)", exponent=1, shape="wide"),
    Law(memory_that_overflows, "thesis, eq. (3.4)", exponent=0, shape="own"),
    Law(random_memory, "thesis, section 5.1", exponent=0, shape="wide"),
    Law(residual_memories, "conference paper, Algorithm 1; thesis, section 5.1", exponent=1, shape="wide"),
    Law(dependent_rows, "thesis, Theorem 3, of rows that are not independent", exponent=2, shape="wide"),
    Law(nearly_dependent_row, "thesis, Proposition 2, of rows that are not independent", exponent=1, shape="wide"),
    Law(outputs_apart, "thesis, Remark 3", exponent=1, shape="wide"),
    Law(vector_outputs, "thesis, Theorem 3", exponent=1, shape="wide"),
    Law(merges, "thesis, Theorem 3", exponent=1, shape="wide"),
    Law(linearised, "thesis, Theorem 9", exponent=1, shape="wide"),
)
