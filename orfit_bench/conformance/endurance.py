"""Long streams of ill-conditioned rows: how far w and P are from a batch solution, over time.

The truth is the triangular factor R of the weighted rows, [R z] <- qr([sqrt(ff^b) [R z]; weighted new rows]), from
which w = R^-1 z and P = (R'R)^-1: orthogonal factorisations alone, so that it loses eps cond(R) and not its square.
A positive smallest eigenvalue is recorded too, beside the errors, because alone it proves nothing.
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
"""Rows learned between two looks at most."""
TASKS = 2
"""Outputs of every stream: on a classifier, classes."""


@dataclass(frozen=True)
class Rows:
    """Gaussian rows (n, d) of the given condition in a subspace of `seen` dimensions, which is turned at random."""

    d: int = 16
    seen: int = 16
    condition: float = 1e3
    seed: int = 0

    def directions(self) -> Array:
        """(d, seen) orthonormal: the subspace that the rows span."""
        Q = np.linalg.qr(np.random.default_rng(self.seed).standard_normal((self.d, self.d)))[0]
        return np.asarray(Q[:, : self.seen])

    def blocks(self, n: int) -> Iterator[tuple[Array, Array]]:
        """X (b, d) and one-hot Y (b, TASKS) of n rows in all."""
        V, scale = self.directions(), np.geomspace(1, 1 / self.condition, self.seen)
        truth = np.random.default_rng([self.seed, 1]).standard_normal(self.seen)
        for i in range(0, n, BLOCK):
            Z = np.random.default_rng([self.seed, 2, i]).standard_normal((min(BLOCK, n - i), self.seen))
            labels = (Z @ truth > 0).astype(int)
            yield (Z * scale) @ V.T, np.eye(TASKS)[labels]


class Truth:
    """The triangular factor of the weighted rows, prior included, and its right-hand sides."""

    def __init__(self, d: int, ridge: float, forgetting_factor: float) -> None:
        self._d, self._ff = d, forgetting_factor
        self._factor = np.hstack([np.sqrt(ridge) * np.eye(d), np.zeros((d, TASKS))])

    def add(self, X: Array, Y: Array) -> None:
        """Take in rows."""
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


class Look(NamedTuple):
    """What was found after so many rows."""

    rows: int
    w_error: float
    """|w - w*| / |w*| on the directions that rows were seen in."""
    P_error: float
    """|V'(P - P*)V| / |V'P*V| for V those directions."""
    least_eigenvalue: float
    """Of P, over its largest."""
    asymmetry: float
    """max |P - P'| / max |P|."""


class Endured(NamedTuple):
    """The looks, and the rows at which the learner warned of lost digits or refused to go on (0: never)."""

    looks: list[Look]
    warned: int
    refused: int


def endure(learner: Any, P_field: str, n: int, rows: Rows, ridge: float, forgetting_factor: float = 1.0) -> Endured:
    """Learn n rows with a learner that keeps w and a P, and look at both some fifty times, evenly in log rows.

    Where it refuses to go on, the last look is at the state that it then keeps.
    """
    truth, V, looks = Truth(rows.d, ridge, forgetting_factor), rows.directions(), []
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
        truth.add(X, Y)
        if i in points or refused:
            looks.append(look(learner, P_field, truth, V, done))
        if refused:
            break
    return Endured(looks, warned, refused)


def look(learner: Any, P_field: str, truth: Truth, V: Array, rows: int) -> Look:
    """The learner's weights and P beside the batch solution."""
    state = learner.state()
    w = np.asarray(state[learner.method.state.weights].values, float).reshape(len(V), -1)
    if learner.method.traits.labels:
        w = w[:, np.argsort(learner.classes_)]
    P, (w_true, P_true) = np.asarray(state[P_field].values, float), truth.solution()
    values = np.linalg.eigvalsh(P)
    return Look(
        rows,
        _apart(V.T @ w, V.T @ w_true),
        _apart(V.T @ P @ V, V.T @ P_true @ V),
        float(values[0] / values[-1]),
        float(abs(P - P.T).max() / abs(P).max()),
    )


def _apart(got: Array, want: Array) -> float:
    return float(np.linalg.norm(got - want) / np.linalg.norm(want))
