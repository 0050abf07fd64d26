"""What kernels share that learn layer by layer: matrices of w, arrays of s, projections.

Shapes: w (p, 1) holds the matrices Theta_l (n, m) one after another in C order; U (k, n) orthonormal rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def matrices(w: Array, shapes: tuple[tuple[int, int], ...]) -> list[Array]:
    """The layers' matrices as views of w."""
    ends = np.cumsum([n * m for n, m in shapes])
    return [w[end - n * m : end].reshape(n, m) for (n, m), end in zip(shapes, ends, strict=True)]


def of_layers(s: Any, name: str, p: Any) -> list[Array]:
    """A field's arrays, one a layer."""
    return [getattr(s, f"{name}_{layer}") for layer in range(1, len(p.shapes) + 1)]


def filled(basis: Array) -> Array:
    """The rows in use: those behind them are zero."""
    return basis[: np.count_nonzero(basis.any(axis=1))]


def off(U: Array, A: Array) -> Array:
    """A - U'U A; twice, since once leaves eps A in the span of U."""
    for _ in range(2):
        A = A - U.T @ (U @ A)
    return A
