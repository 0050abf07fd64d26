"""The cost of one call: single rows compared with their kernel and with River, chunks of several lengths, kernels.

`python3 dev.py bench` measures; the test command runs each once, so that failures are noticed.
"""

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.plugins.registry import registry

D = 16
BACKENDS = ["numpy", pytest.param("numba", marks=pytest.mark.slow)]
METHODS = sorted(ob.methods())


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((256, D))
    return X, X @ rng.standard_normal(D)


def learning(method, rows, backend="numpy"):
    """A learner that has seen the rows, and the rows as its kind needs them."""
    if reason := registry().absence(backend, method):
        pytest.skip(f"{method} on {backend}: {reason}")
    declared, (X, y) = ob.methods()[method], rows
    y = (y > 0).astype(int) if declared.kind == "classification" else y  # a subspace ignores it
    learner = ob.create(method, backend=backend, **({"model": ob.MLP()} if declared.state.layered else {}))
    return learner.partial_fit(X, y), X, y


@pytest.mark.benchmark(group="one row, d = 16")
@pytest.mark.parametrize("method", METHODS)
def test_partial_fit_of_one_row(benchmark, rows, method):
    learner, X, y = learning(method, rows)
    benchmark(learner.partial_fit, X[:1], y[:1])


@pytest.mark.benchmark(group="one row, d = 16")
def test_river_learn_one(benchmark, rows):
    linear_model = pytest.importorskip("river.linear_model", reason="river is not installed: python3 dev.py bench")
    x, y = dict(enumerate(map(float, rows[0][0]))), float(rows[1][0])
    benchmark(linear_model.LinearRegression(intercept_lr=0).learn_one, x, y)


@pytest.mark.benchmark(group="chunk of 256 rows, d = 16")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("method", METHODS)
def test_partial_fit_of_a_chunk(benchmark, rows, method, backend):
    learner, X, y = learning(method, rows, backend)
    benchmark(learner.partial_fit, X, y)


@pytest.mark.benchmark(group="256 rows in chunks, rls, d = 16")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("length", [1, 4, 16, 64, 256])
def test_chunks_of_a_length(benchmark, rows, length, backend):
    learner, X, y = learning("rls", rows, backend)
    chunks = [(X[a : a + length], y[a : a + length]) for a in range(0, len(X), length)]
    benchmark(lambda: [learner.partial_fit(*chunk) for chunk in chunks])


@pytest.mark.benchmark(group="kernel alone, 256 rows, d = 16")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("method", [m for m in METHODS if m not in ("gp", "owm")])  # theirs need a row's layers
def test_kernel(benchmark, rows, method, backend):
    learner, X, y = learning(method, rows, backend)
    kind = learner.method.kind
    Y = np.empty((len(X), 0)) if kind == "subspace" else np.eye(2)[y] if kind == "classification" else y[:, None]
    state = learner.live_state
    s = learner.rule.layout(state.sizes).reserve(state.arrays, len(X))
    p = learner.rule.step_parameters(state, len(X), 1, len(X), None)
    benchmark(registry().kernel(backend, method).learn, s, X, Y, p, None)


@pytest.mark.benchmark(group="kernel alone, one row, d = 16")
@pytest.mark.parametrize("backend", BACKENDS)
def test_kernel_of_one_row(benchmark, rows, backend):
    learner, X, y = learning("lms", rows, backend)
    state = learner.live_state
    p = learner.rule.step_parameters(state, 1, 1, 1, None)
    benchmark(registry().kernel(backend, "lms").learn, state.arrays, X[:1], y[:1, None], p, None)
