"""Linear algebra with arrays of decimal numbers with 90 digits, and transitions for tests of filters."""

from __future__ import annotations

from decimal import Decimal, getcontext
from typing import Any

import numpy as np

getcontext().prec = 90
Array = Any


def decimals(a: Array) -> Array:
    return np.vectorize(Decimal, otypes=[object])(np.asarray(a, float))


def solve(A: Array, B: Array) -> Array:
    """A^-1 B by elimination; ZeroDivisionError if A is singular."""
    A, B = A.copy(), B.copy()
    for i in range(len(A)):
        pivot = max(range(i, len(A)), key=lambda r: abs(A[r, i]))
        A[[i, pivot]], B[[i, pivot]] = A[[pivot, i]], B[[pivot, i]]
        if abs(A[i, i]) < Decimal("1e-60"):
            raise ZeroDivisionError
        for r in {*range(len(A))} - {i}:
            share = A[r, i] / A[i, i]
            A[r], B[r] = A[r] - share * A[i], B[r] - share * B[i]
    return B / np.diagonal(A)[:, None]


def transition(rng: np.random.Generator, d: int) -> Array:
    """A number, a diagonal, or a matrix."""
    kind = rng.integers(7)
    if kind == 0:
        return np.linalg.qr(rng.standard_normal((d, d)))[0] * rng.choice([0.9, 1, 1.05])
    if kind == 1:
        return np.vstack([rng.standard_normal(d) / d, np.eye(d)[:-1]])
    if kind == 2:
        return np.triu(rng.standard_normal((d, d)), 1) + np.diag(rng.choice([0.5, 0.9, 1, 1.1], d))
    if kind == 3:
        F = rng.standard_normal((d, d))
        return F / np.abs(np.linalg.eigvals(F)).max() * rng.choice([0.5, 0.9, 1, 1.2])
    if kind == 4:
        return np.eye(d) + 0.3 * np.eye(d, k=1)
    return rng.choice([0.5, 0.9, 1, 1.1], d if kind == 5 else ())


def as_matrix(F: Array, d: int) -> Array:
    """A number, a diagonal or a matrix as a matrix (d, d)."""
    return F * np.eye(d) if np.ndim(F) < 2 else F
