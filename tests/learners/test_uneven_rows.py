"""Rows, and outputs of models, that are much smaller than others are learned as the formulas say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import orfit_bench as ob

pytestmark = pytest.mark.parametrize("backend", ["numpy", "numba"])
SCALES = np.array([1e9, 1.0])


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_apa_fits_small_rows_among_large_ones(backend: str, dtype: str) -> None:
    rng, size = np.random.default_rng(0), 1e4 if dtype == "float32" else 1e9
    X, w = rng.standard_normal((6, 8)).astype(dtype), rng.standard_normal(8)
    X[0] *= size
    y = X @ w.astype(dtype)
    learner = ob.create("apa", backend=backend, dtype=dtype, projection_order=None, eps=0.0, step_size=1.0)
    assert abs(learner.partial_fit(X, y).predict(X) - y)[1:].max() < 1e-3
    if dtype != "complex128":
        fleet = ob.fleet("apa", 2, backend=backend, dtype=dtype, projection_order=None, eps=0.0, step_size=1.0)
        assert abs(fleet.partial_fit([X, X], [y, y]).predict([X, X]) - y)[:, 1:].max() < 1e-3


@pytest.mark.parametrize("method", ["nlms", "apa"])
def test_small_outputs_of_a_model_are_learned(backend: str, method: str) -> None:
    def predict(w: Any, X: Any) -> Any:
        return X @ w.reshape(2, -1).T * SCALES

    def jacobian(w: Any, x: Any) -> Any:
        return np.kron(np.diag(SCALES), x)

    model = ob.Model(
        "scaled", predict=predict, jacobian=jacobian, parameters=lambda d, c: 2 * d,
        start=lambda draw, d, c: np.zeros(2 * d),
    )  # fmt: skip
    X = np.random.default_rng(0).standard_normal((200, 2))
    learner = ob.create(method, backend=backend, model=model, step_size=1.0, eps=1e-6)
    learner.partial_fit(X, predict(np.array([1.0, 2, 3, 4]), X))
    np.testing.assert_allclose(learner.array("w")[:, 0], [1, 2, 3, 4], rtol=1e-3)


def test_blocks_of_implicit_krasulina_keep_the_digits_of_an_uneven_basis(backend: str) -> None:
    rng = np.random.default_rng(0)
    X, C = rng.standard_normal((200, 8)) + 10, 1e-4 * rng.standard_normal((8, 3))

    def components(dtype: str) -> Any:
        learner = ob.create(
            "implicit_krasulina", backend=backend, dtype=dtype, n_components=3, step_size=1.0, batch_size=4,
            initial_basis=C,
        )  # fmt: skip
        return np.asarray(learner.partial_fit(X.astype(dtype)).components_, float)

    a, b = components("float32"), components("float64")
    assert np.linalg.norm(a - (a @ b.T) @ b) < 0.02


@pytest.mark.parametrize("batch_size", [1, 10])
def test_incremental_pca_keeps_small_directions_of_many_features_in_single_precision(
    backend: str, batch_size: int
) -> None:
    rng = np.random.default_rng(0)
    U = rng.standard_normal((3, 100_000))
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    X = ((1 + 0.1 * rng.standard_normal((30, 3))) * rng.choice([-1, 1], (30, 3)) * [100, 1, 0.5]) @ U
    learner = ob.create("incremental_pca", backend=backend, n_components=3, dtype="float32", batch_size=batch_size)
    found = learner.partial_fit(X.astype("float32")).array("singular_values")
    np.testing.assert_allclose(found, np.linalg.svd(X, compute_uv=False)[:3], rtol=1e-3)
