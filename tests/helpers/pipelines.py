"""Rows whose moments shift, pipelines for them, and their batch solution."""

from __future__ import annotations

from typing import Any

import numpy as np

import orfit_bench as ob

rng = np.random.default_rng(1)
N, CUT = 700, 300
X = rng.standard_normal((N, 4))
X[400:] = X[400:] * [3, 20, 0.1, 1] + [10, 50, -3, 0]  # the moments shift within a part
X = X * [1e-3, 1, 1e4, 1] + [5, -2e3, 1e5, 0]
X[:, 3] = 0.1  # a constant column
Y = ((X - [5, -2e3, 1e5, 0]) / [1e-3, 1, 1e4, 1]) @ rng.standard_normal((4, 2)) + [7, -1] + rng.standard_normal((N, 2))
y = Y[:, 0]
REVERSED = np.r_[CUT:N, :CUT]

EXACT: list[tuple[str, dict[str, Any]]] = [
    ("ridge", {"ridge": 0.5}),
    ("ridge", {"ridge": 0.5, "forgetting_factor": 0.99}),
    ("ridge", {"ridge": 0.5, "forgetting_factor": 1.01}),
    ("rls", {"ridge": 0.5}),
    ("rls", {"ridge": 0.5, "forgetting_factor": 0.99}),
    ("rls", {"ridge": 0.5, "form": "square_root"}),
    ("rls", {"ridge": 0.5, "form": "square_root", "forgetting_factor": 0.99}),
    ("kalman", {"initial_covariance": 2.0}),
    ("kalman", {"initial_covariance": 2.0, "form": "square_root"}),
]


def make(method: str, dtype: str = "float64", backend: str = "numpy", **settings: Any) -> Any:
    return ob.pipeline("standardize", "intercept", ob.create(method, backend=backend, dtype=dtype, **settings))


def in_chunks(pipeline: Any, rows: Any, targets: Any, size: int, **given: Any) -> Any:
    for i in range(0, len(rows), size):
        part = {name: value[i : i + size] for name, value in given.items()}
        pipeline.partial_fit(rows[i : i + size], targets[i : i + size], **part)
    return pipeline


def moments(rows: Any, weights: Any = None) -> tuple[Any, Any]:
    """Mean and standard deviation, 1 for constant columns."""
    mean = np.average(rows, axis=0, weights=weights)
    std = np.sqrt(np.average(np.abs(rows - mean) ** 2, axis=0, weights=weights))
    return mean, np.where(std > 1e-12 * np.abs(mean), std, 1.0)


def batch(
    rows: Any, targets: Any, ridge: float, prior: tuple[Any, Any], weights: Any = None, ff: float = 1.0, w0: Any = 0.0
) -> Any:
    """The raw weights of least squares for all rows, with a prior in given coordinates, by an SVD."""
    Z = np.column_stack([(rows - prior[0]) / prior[1], np.ones(len(rows))])
    n, p = Z.shape
    root = np.sqrt((np.ones(n) if weights is None else weights) * ff ** np.arange(n - 1, -1, -1))
    A = np.vstack([root[:, None] * Z, np.sqrt(ridge * ff**n) * np.eye(p)])
    T = targets.reshape(n, -1)
    b = np.vstack([root[:, None] * T, np.zeros((p, T.shape[1]))])
    w = np.linalg.lstsq(A, b, rcond=None)[0]
    raw = w[:-1] / prior[1][:, None]
    return np.vstack([raw, w[-1:] - prior[0] @ raw])


def answers(w: Any, rows: Any) -> Any:
    return rows @ w[:-1] + w[-1]


def close(got: Any, want: Any, tol: float = 1e-9) -> None:
    want = np.asarray(want).reshape(np.shape(got))
    assert np.abs(got - want).max() <= tol * np.abs(want).max()
