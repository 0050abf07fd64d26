"""The parts of the weights and of the state that belong to the layers of a network."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench_numba._block_gram_schmidt import Array


def layer_matrices(w: Array, shapes: tuple[tuple[int, int], ...]) -> list[Array]:
    """Views of w (p, 1): the layers' matrices (n, m), which lie in it one after another."""
    ends = np.cumsum([n * m for n, m in shapes])
    return [w[end - n * m : end].reshape(n, m) for (n, m), end in zip(shapes, ends, strict=True)]


def layer_fields(s: Any, name: str, p: Any) -> list[Array]:
    """A field's arrays, one a layer."""
    return [getattr(s, f"{name}_{i}") for i in range(1, len(p.shapes) + 1)]
