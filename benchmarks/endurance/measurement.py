"""Long streams of ill-conditioned rows: the errors of w and P, relative to the exact solution, over time.

The exact solution comes from the triangular factor R of the weighted rows, [R z] <- qr([sqrt(ff^b) [R z]; weighted new
rows]), as w = R^-1 z and P = (R'R)^-1. It uses orthogonal factorizations only, so its error is eps cond(R) and not its
square. The smallest eigenvalue of P is recorded too; alone it proves nothing, since a wrong P can be positive.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orfit_bench.errors import AccuracyWarning, DivergedError

Array = NDArray[Any]
BLOCK = 1000
"""Rows per call."""
TASKS = 2
"""Outputs of every stream; for a classifier, classes."""


@dataclass(frozen=True)
class Rows:
    """Gaussian rows (n, d) of the given condition in a subspace of `seen` dimensions, rotated at random."""

    d: int = 16
    seen: int = 16
    condition: float = 1e3
    seed: int = 0

    def directions(self) -> Array:
        """(d, seen) orthonormal: the subspace that the rows span."""
        Q = np.linalg.qr(np.random.default_rng(self.seed).standard_normal((self.d, self.d)))[0]
        return np.asarray(Q[:, : self.seen])

    def blocks(self, n: int) -> Iterator[tuple[Array, Array]]:
        """Blocks X (b, d) and one-hot Y (b, TASKS) with n rows in total."""
        V, scale = self.directions(), np.geomspace(1, 1 / self.condition, self.seen)
        truth = np.random.default_rng([self.seed, 1]).standard_normal(self.seen)
        for i in range(0, n, BLOCK):
            Z = np.random.default_rng([self.seed, 2, i]).standard_normal((min(BLOCK, n - i), self.seen))
            labels = (Z @ truth > 0).astype(int)
            yield (Z * scale) @ V.T, np.eye(TASKS)[labels]


class ExactSolution:
    """The triangular factor of the weighted rows, including the prior, and its right-hand sides."""

    def __init__(self, d: int, ridge: float, forgetting_factor: float) -> None:
        self._d, self._ff = d, forgetting_factor
        self._factor = np.hstack([np.sqrt(ridge) * np.eye(d), np.zeros((d, TASKS))])

    def add(self, X: Array, Y: Array) -> None:
        """Add rows."""
        b = len(X)
        weight = self._ff ** (np.arange(b - 1, -1, -1.0) / 2)
        rows = weight[:, None] * np.hstack([X, Y])
        both = np.vstack([self._ff ** (b / 2) * self._factor, rows])
        self._factor = np.asarray(np.linalg.qr(both, mode="r"))[: self._d]

    def solution(self) -> tuple[Array, Array]:
        """W (d, TASKS) and P (d, d)."""
        R, z = self._factor[:, : self._d], self._factor[:, self._d :]
        half = np.linalg.inv(R)
        return half @ z, half @ half.T


class Errors(NamedTuple):
    """The errors after a number of rows."""

    rows: int
    w_error: float
    """|w - w*| / |w*| in the directions of the rows."""
    P_error: float
    """|V'(P - P*)V| / |V'P*V|, where V are these directions."""
    min_eigenvalue: float
    """Smallest eigenvalue of P, relative to the largest."""
    asymmetry: float
    """max |P - P'| / max |P|."""


class LongStreamResult(NamedTuple):
    """The errors, and the rows after which the learner warned of lost precision or refused a row (0: never)."""

    errors: list[Errors]
    warned: int
    refused: int


def measure_long_stream(
    learner: Any, P_field: str, n: int, rows: Rows, ridge: float, forgetting_factor: float = 1.0
) -> LongStreamResult:
    """Learn n rows with a learner that has weights and a matrix P; measure both about fifty times, evenly in log rows.

    If the learner refuses a row, the last errors are those of the state that it keeps.
    """
    exact, V, errors = ExactSolution(rows.d, ridge, forgetting_factor), rows.directions(), []
    points = {int(p) for p in np.unique(np.geomspace(1, max(1, n // BLOCK), 50).round())}
    labels, warned, refused, done = learner.method.traits.labels, 0, 0, 0
    for i, (X, Y) in enumerate(rows.blocks(n), start=1):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", AccuracyWarning)
            try:
                learner.partial_fit(X, Y.argmax(axis=1) if labels else Y)
            except DivergedError as error:
                X, Y = X[: error.row], Y[: error.row]
                refused = done + error.row
        done += len(X)
        warned = warned or (done if caught else 0)
        exact.add(X, Y)
        if i in points or refused:
            errors.append(measure_errors(learner, P_field, exact, V, done))
        if refused:
            break
    return LongStreamResult(errors, warned, refused)


def measure_errors(learner: Any, P_field: str, exact: ExactSolution, V: Array, rows: int) -> Errors:
    """The errors of the weights and of P, relative to the exact solution."""
    state = learner.state()
    w = np.asarray(state[learner.method.state.weights].values, float).reshape(len(V), -1)
    if learner.method.traits.labels:
        w = w[:, np.argsort(learner.classes_)]
    P, (w_exact, P_exact) = np.asarray(state[P_field].values, float), exact.solution()
    values = np.linalg.eigvalsh(P)
    return Errors(
        rows,
        _relative_error(V.T @ w, V.T @ w_exact),
        _relative_error(V.T @ P @ V, V.T @ P_exact @ V),
        float(values[0] / values[-1]),
        float(abs(P - P.T).max() / abs(P).max()),
    )


def _relative_error(got: Array, want: Array) -> float:
    return float(np.linalg.norm(got - want) / np.linalg.norm(want))
