"""The small decomposition for every row of orfit and incremental_pca, and the state after a refusal within a block."""

import numba
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import orfit_bench as ob
from orfit_bench_numba._arrowhead_svd import decompose

NUMBERS = st.integers(-8, 8).map(lambda k: k / 4) | st.integers(-25, 5).map(lambda e: 10.0**e)


@numba.njit  # nothing cached on disk: the name of a test's module depends on how it is imported
def decomposed(d, z, V, values, work, n):
    decompose(d, z, V, values, work, np.empty(n, np.int64))


@settings(deadline=None)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=40), st.integers(-200, 200))
@example([(1.0, 1.0)] * 40, 0)
@example([(1.0, 1e-17), (0.0, 0.0), (0.0, 0.0)], 0)
@example([(1 + k * 2.0**-52, 0.1) for k in range(40)], 0)
def test_values_and_vectors_are_those_of_the_dense_matrix(pairs, exponent):
    old = np.array(pairs).reshape(-1, 2) * 10.0**exponent
    d, z = np.append(np.sort(abs(old[:, 0]))[::-1], 0.0), np.append(old[:, 1], 10.0**exponent)
    n, M = len(d), np.column_stack([np.diag(d), z])
    V, values = np.empty((n, n)), np.empty(n)
    decomposed(d, z, V, values, np.empty((n + 2, n)), n)
    size, eps = abs(M).max(), 1e3 * np.finfo(float).eps
    M, values = M / size, values / size
    np.testing.assert_allclose(values, np.linalg.svd(M)[1], rtol=0, atol=eps)
    np.testing.assert_allclose(V @ V.T, np.eye(n), rtol=0, atol=eps)
    np.testing.assert_allclose(np.linalg.norm(V @ M, axis=1), values, rtol=0, atol=eps)
    np.testing.assert_allclose(V @ M @ M.T @ V.T, np.diag(values**2), rtol=0, atol=eps)


@pytest.mark.parametrize("summary", ["ipca", "largest", "latest", "random"])
@pytest.mark.parametrize("memory", [4, 20])
@pytest.mark.parametrize("refused", range(1, 8))
def test_a_row_refused_in_a_block_leaves_the_memory_of_those_before(summary, memory, refused):
    rng = np.random.default_rng(refused)
    X, y = rng.standard_normal((refused + 2, 12)), rng.standard_normal(refused + 2)
    X[:, 0], X[refused, 0] = 0, 1e10  # multiplied by the weight 1e300 it overflows
    spans = []
    for backend in ("numba", "numpy"):
        start = np.append(1e300, np.zeros(11))
        learner = ob.create("orfit", backend=backend, memory=memory, summary=summary, initial_weights=start)
        with pytest.raises(ob.DivergedError) as error:
            learner.partial_fit(X, y)
        assert error.value.row == refused
        U = learner.array("basis")
        spans.append(U.T @ U)
    np.testing.assert_allclose(*spans, rtol=0, atol=1e-13)
