"""What one call costs: a row at a time beside its kernel and beside River; chunks beside rows.

`python3 dev.py bench` measures; the test command runs each once, so that they stay runnable.
"""

import numpy as np
import pytest

import orfit_bench as ob

D = 16
METHODS = ["lms", "nlms", "apa", "icl", "ogd", "orfit", "one_step_sgd", "greedy", "rls"]
METHODS += ["oja", "krasulina", "sanger", "implicit_krasulina", "incremental_pca"]
METHODS += ["kalman", "sgd", "class_rls", "gp", "owm"]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((256, D))
    return X, X @ rng.standard_normal(D)


def learning(method, rows):
    """A learner that has seen the rows, and the rows as its kind wants them."""
    if method not in ob.methods():
        pytest.skip(f"{method} is not in this tree")
    declared, (X, y) = ob.methods()[method], rows
    y = (y > 0).astype(int) if declared.kind == "classification" else y  # a subspace ignores it
    learner = ob.create(method, **({"model": ob.MLP()} if declared.layered else {}))
    return learner.partial_fit(X, y), X, y


@pytest.mark.benchmark(group="one row, d = 16")
@pytest.mark.parametrize("method", METHODS)
def test_partial_fit_of_one_row(benchmark, rows, method):
    learner, X, y = learning(method, rows)
    benchmark(learner.partial_fit, X[:1], y[:1])


@pytest.mark.benchmark(group="one row, d = 16")
def test_kernel_of_lms(benchmark, rows):
    learner = ob.create("lms").partial_fit(*rows)
    X, Y, p = rows[0][:1], rows[1][:1, None], learner._parameters(1, 1, 1, 1)
    benchmark(learner._kernel.learn, learner._s, X, Y, p, None)


@pytest.mark.benchmark(group="one row, d = 16")
def test_river_learn_one(benchmark, rows):
    linear_model = pytest.importorskip("river.linear_model", reason="river is not installed: python3 dev.py bench")
    x, y = dict(enumerate(map(float, rows[0][0]))), float(rows[1][0])
    benchmark(linear_model.LinearRegression(intercept_lr=0).learn_one, x, y)


@pytest.mark.benchmark(group="chunk of 256 rows, d = 16")
@pytest.mark.parametrize("method", METHODS)
def test_partial_fit_of_a_chunk(benchmark, rows, method):
    learner, X, y = learning(method, rows)
    benchmark(learner.partial_fit, X, y)
