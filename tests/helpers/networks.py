"""Rows, settings and networks for tests of methods that learn layer by layer."""

from __future__ import annotations

from typing import Any

import numpy as np

import orfit_bench as ob


def matrices(learner: Any) -> list[Any]:
    """The matrices of the layers."""
    w = learner.array("w")[:, 0]
    shapes = learner.model.shapes(learner.n_features_in_, learner.live_state.sizes.n_outputs)
    ends = np.cumsum([n * m for n, m in shapes])
    return [w[end - n * m : end].reshape(n, m) for (n, m), end in zip(shapes, ends, strict=True)]


def network_rows(n: int, d: int = 3, outputs: int = 1) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, d)), rng.standard_normal((n, outputs)) / 2


def draw_rows(n):
    """Rows (n, 4) and targets (n,)."""
    rng = np.random.default_rng(5)
    return rng.standard_normal((n, 4)), rng.standard_normal(n)


def learned_separately(method, n=12, **settings):
    """Two learners with the same start that learned the first and the last rows, and all rows."""
    X, y = draw_rows(n)
    w = np.linspace(-0.5, 0.5, 4 * 3 + 3 + 3 + 1)
    created = [ob.create(method, model=ob.MLP((3,)), initial_weights=w, **settings) for _ in range(2)]
    third = n // 3
    return created[0].partial_fit(X[:third], y[:third]), created[1].partial_fit(X[third:], y[third:]), third / n
