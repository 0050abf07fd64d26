"""Rows far from zero: steps that are long compared with the basis, so that the sums kept in a block grow."""

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


@pytest.mark.parametrize("method", ["oja", "krasulina"])
@pytest.mark.parametrize("step_size", [1e-3, 0.3])
def test_single_rows_stay_orthonormal_and_equal_the_chunk(method, step_size):
    """Rows are learned in place, by the factor of a rank-one change; every thousandth by the general path."""
    X = np.random.default_rng(0).standard_normal((2500, 12)) * np.linspace(1, 2, 12) / 4
    one, chunk = (ob.create(method, backend="numba", n_components=4, step_size=step_size) for _ in range(2))
    for x in X:
        one.learn_one(x)
    chunk.partial_fit(X)
    C = one.array("basis")
    assert abs(C.T @ C - np.eye(4)).max() < 1e-13
    assert abs(C - chunk.array("basis")).max() < 1e-9


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("method", ["sanger", "implicit_krasulina", "incremental_pca"])
def test_single_rows_without_a_transposed_copy_equal_the_chunk(method, dtype):
    """The first rows of sanger make C ill-conditioned, and those of incremental_pca fill the basis."""
    rng, eps = np.random.default_rng(0), np.finfo(dtype).eps
    X = (rng.standard_normal((300, 12)) * np.linspace(2, 1, 12) / 4).astype(dtype)
    settings = {} if method == "incremental_pca" else {"step_size": 1e-3 if method == "sanger" else 0.1}
    one, chunk, moved = (ob.create(method, backend="numba", dtype=dtype, n_components=4, **settings) for _ in range(3))
    for x in X:
        one.learn_one(x)
    chunk.partial_fit(X)
    moved.partial_fit(X * (1 + 8 * eps * rng.uniform(-1, 1, X.shape)).astype(dtype))
    change, C = abs(projection(moved) - projection(chunk)).max(), one.array("basis")
    assert abs(projection(one) - projection(chunk)).max() <= 20 * max(change, eps)
    if method == "incremental_pca":
        assert abs(C.T @ C - np.eye(4)).max() < 50 * eps


@pytest.mark.parametrize("method", ["oja", "krasulina"])
def test_single_rows_too_large_for_the_short_form(method):
    X = np.random.default_rng(1).standard_normal((20, 6)) * 50
    one, chunk = (ob.create(method, backend="numba", n_components=2, step_size=1.0) for _ in range(2))
    for x in X:
        one.learn_one(x)
    chunk.partial_fit(X)
    C, D = (learner.array("basis") for learner in (one, chunk))
    assert abs(C.T @ C - np.eye(2)).max() < 1e-13
    assert abs(C @ C.T - D @ D.T).max() < 1e-6


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("method", ["krasulina", "sanger", "implicit_krasulina"])
@pytest.mark.parametrize("refused", [4, 5, 6, 7])
def test_a_refused_row_leaves_no_trace_in_its_block(method, refused, dtype):
    """Four rows near the span of the basis, then a row near the largest number at each place of the next block."""
    rng, largest = np.random.default_rng(1), float(np.finfo(dtype).max)
    C = np.linalg.qr(rng.standard_normal((8, 5)))[0]
    for _ in range(10):
        X = 0.1 * rng.standard_normal((8, 8))
        along = C @ rng.standard_normal(5)
        X[:4] = 1.25 * along / np.linalg.norm(along) + 0.01 * rng.standard_normal((4, 8))
        X[refused] = 0
        X[refused, rng.integers(8)] = 0.97 * largest
        bases = []
        for backend in ("numba", "numpy"):
            learner = ob.create(
                method, backend=backend, dtype=dtype, n_components=5, initial_basis=C.astype(dtype), step_size=1.0
            )
            with pytest.raises(ob.DivergedError) as info, np.errstate(all="ignore"):
                learner.partial_fit(X.astype(dtype))
            assert info.value.row == refused
            bases.append(projection(learner))
        assert abs(bases[0] - bases[1]).max() < 1e4 * np.finfo(dtype).eps


def test_single_rows_of_a_basis_without_a_cholesky_factor():
    """C'C of two columns that are nearly equal is not positive definite after rounding."""
    near = np.eye(3, 2, dtype="float32")
    near[:, 1] = [1, 1e-5, 0]
    row = np.array([[0.7, 0.05, 0.7]], "float32")
    one, other = (
        ob.create("sanger", backend=backend, n_components=2, step_size=1e-3, dtype="float32", initial_basis=near)
        .partial_fit(np.zeros((1, 3), "float32"))
        .partial_fit(row)
        for backend in ("numba", "numpy")
    )
    np.testing.assert_allclose(one.state()["basis"], other.state()["basis"], atol=1e-4)
