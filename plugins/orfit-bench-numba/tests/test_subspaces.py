"""Rows far from zero: steps that are long beside the basis, where what is carried along a block grows."""

import numpy as np
import pytest

import orfit_bench as ob


def projection(learner):
    U = np.linalg.qr(np.asarray(learner.state()["basis"], float))[0]
    return U @ U.T


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("step", [1e-3, 2e-3, 0.02, 0.2])
@pytest.mark.parametrize("noise", [1.0, 0.1])
@pytest.mark.parametrize("method", ["oja", "krasulina", "implicit_krasulina", "incremental_pca"])
def test_rows_far_from_zero(method, noise, step, dtype):
    rng = np.random.default_rng(0)
    X = (5 + noise * rng.standard_normal((400, 30)) * np.geomspace(2, 0.5, 30)).astype(dtype)
    settings = {} if method == "incremental_pca" else {"step_size": step}
    one, other, moved = (
        ob.create(method, backend=backend, dtype=dtype, n_components=4, **settings).partial_fit(rows)
        for backend, rows in (
            ("numba", X),
            ("numpy", X),
            ("numpy", X * (1 + 8 * np.finfo(dtype).eps * rng.uniform(-1, 1, X.shape)).astype(dtype)),
        )
    )
    change = abs(projection(moved) - projection(other)).max()
    assert abs(projection(one) - projection(other)).max() <= 20 * max(change, np.finfo(dtype).eps)
