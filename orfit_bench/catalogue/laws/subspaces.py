"""Laws and measurements shared by several rules for subspaces. Shapes: A (N, d) rows y_n', C (d, k), X (k, N)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.helpers import is_refused
from orfit_bench.catalogue.shared.subspaces import orthonormalize
from orfit_bench.spec import Array
from orfit_bench.spec.law import Measured, Rows, deviation, measure_claim, nan_max, to_numpy64

K = 3
"""Number of directions that the laws estimate."""
STEP = 0.5
"""Step of the laws times the largest |y|^2: about the largest step that a practitioner would choose."""
SIZES = (1, 1, 3, 1, 5)
"""Numbers of rows of the blocks that a learner learns."""
ROWS = 60
"""Total number of rows of these blocks."""
MIXED = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])


def final_basis(learner: Any) -> Array:
    """The matrix C of a learner, in host memory, in double precision."""
    return np.asarray(to_numpy64(learner.array("basis")))


def projector(C: Array) -> Array:
    """C C^+."""
    Q = orthonormalize(C)
    P: Array = Q @ Q.T
    return P


def gaussian_start(rows: Rows) -> Array:
    """A random orthonormal (d, k)."""
    return orthonormalize(np.random.default_rng(rows.seed).standard_normal((rows.X.shape[1], K)))


def relative_step(rows: Rows, share: float = STEP) -> float:
    """A step size relative to the largest squared norm of a row."""
    return float(share / (rows.X * rows.X).sum(1).max())


def block_steps(learner: Any, rows: Rows, sizes: tuple[int, ...] = SIZES) -> Iterator[tuple[Array, Array, Array]]:
    """Let the learner learn the rows in blocks of these sizes, cyclically; yields A, C before, C after."""
    lo, i = 0, 0
    C = final_basis(learner.partial_fit(rows.X[:0]))
    while lo < min(ROWS, len(rows.X)):
        A = rows.X[lo : lo + sizes[i % len(sizes)]]
        before, C = C, final_basis(learner.step(A))
        yield A, before, C
        lo, i = lo + len(A), i + 1


def oblique_start(rows: Rows) -> Array:
    """A (d, k) of rank k whose columns are neither orthogonal nor of equal length."""
    C: Array = gaussian_start(rows) @ MIXED
    return C


def oblique_steps(create: Any, rows: Rows, step: float, *sizes: int) -> Iterator[tuple[Array, Array, Array]]:
    """`block_steps` of a learner that starts from `oblique_start`."""
    learner = create(n_components=K, step_size=step, initial_basis=oblique_start(rows))
    return block_steps(learner, rows, sizes or SIZES)


def oblique_condition(gain: float) -> float:
    """A bound of the condition number of C in `oblique_steps` if a step changes C by at most `gain` in norm.

    A change is orthogonal to C, so C'C grows by the square of the change and no singular value of C shrinks.
    """
    values = np.linalg.svd(MIXED, compute_uv=False)
    return float(np.sqrt(values[0] ** 2 + ROWS * gain**2) / values[-1])


def stays_orthonormal(create: Any, rows: Rows) -> Measured:
    """The columns of C stay orthonormal."""
    learner = create(n_components=K, step_size=relative_step(rows))
    worst = nan_max(*(deviation(C.T @ C, np.eye(K)) for _, _, C in block_steps(learner, rows)))
    C = final_basis(learner.partial_fit(rows.X))
    return Measured(nan_max(worst, deviation(C.T @ C, np.eye(K))), C.size, 1.0)  # number of entries that a QR changes


def measure_gradient_steps(gradient: Callable[[Array, Array], Array], create: Any, rows: Rows) -> Measured:
    """The distance of each C from the orthonormal factor (by Cholesky) of C - step * gradient(C, A)."""
    step, worst = relative_step(rows), 0.0
    learner = create(n_components=K, step_size=step)
    for A, before, C in block_steps(learner, rows):
        moved = before - step * gradient(before, A)
        R = np.linalg.cholesky(moved.T @ moved).T
        worst = nan_max(worst, deviation(C, np.linalg.solve(R.T, moved.T).T))
    return Measured(worst, len(rows.X), 1.0)


def measure_refusals(gradient: Callable[[Array, Array], Array], create: Any, rows: Rows) -> Measured:
    """A step is refused exactly if eps |R| for its C = Q R, the error of the other columns, exceeds 0.01."""
    C, y, wrong = gaussian_start(rows), rows.X[0] / np.linalg.norm(rows.X[0]), 0
    for k in range(0, 60, 2):
        A = 2.0**k * y[None]
        learner = create(n_components=K, step_size=1.0, initial_basis=C).partial_fit(A[:0])
        eps = np.finfo(learner.array("basis").dtype).eps
        size = eps * abs(np.linalg.qr(C - gradient(C, A))[1]).max()
        wrong += size < 0.0095 if is_refused(learner.partial_fit, A) else size > 0.0105
    return measure_claim(wrong, rows)


def numerical_gradient(loss: Callable[[Array], Any], C: Array) -> Array:
    """The gradient of a polynomial by complex steps, which have no cancellation: exact to rounding."""
    G, h = np.empty_like(C), 1e-30
    for place in np.ndindex(*C.shape):
        moved = C.astype(complex)
        moved[place] += 1j * h
        G[place] = loss(moved).imag / h
    return G


def leading_eigenvectors_are_fixed(create: Any, rows: Rows) -> Measured:
    """The span of the leading eigenvectors of the second moment does not change under steps of all rows."""
    V = np.linalg.svd(rows.X)[2][:K].T
    learner = create(n_components=K, step_size=relative_step(rows), initial_basis=V)
    for _ in range(5):
        learner.step(rows.X)
    return Measured(deviation(projector(final_basis(learner)), V @ V.T), len(rows.X), 1.0)
