"""ORFit warns when a memory that forgets large directions loses digits, and predicts seen rows until then."""

import warnings
from decimal import Decimal, localcontext

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.kernels.limited_memory import most_error

BACKENDS = ["numpy", "numba"]


def rows_of_rank(rank, d, n, seed):
    """Rows of integers, so that their rank is exact."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-9, 10, (n, rank)) @ rng.integers(-9, 10, (rank, d))
    return X.astype(float), rng.standard_normal(n)


def exact_weights(X, y, memory):
    """The weights (n, d) after each row with the summary latest, by arithmetic of 80 digits."""
    with localcontext() as context:
        context.prec = 80
        w, kept, found = np.full(X.shape[1], Decimal(0)), [], []
        for row, target in zip(X.tolist(), y.tolist(), strict=True):
            r = x = np.array([Decimal(v) for v in row])
            for u in kept:
                r = r - (u @ x) / (u @ u) * u
            if r @ r > Decimal(2) ** -52 * (x @ x):
                w = w + (Decimal(target) - x @ w) / (x @ r) * r
                kept = [*kept, r][-memory:]
            found.append(w.astype(float))
        return np.array(found)


def learn_silently(learner, X, y, size):
    """Learn in chunks; returns the number of warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ob.AccuracyWarning)
        for i in range(0, len(X), size):
            learner.partial_fit(X[i : i + size], y[i : i + size])
    return len(caught)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("settings", [{"summary": "latest"}, {"summary": "random"}, {"batch_size": 2}])
@pytest.mark.parametrize("size", [1, 80])
def test_a_memory_of_most_directions_warns_once(backend, settings, size):
    X, y = rows_of_rank(5, 10, 80, 1)
    learner = ob.create("orfit", memory=4, backend=backend, **({"summary": "latest"} | settings))
    assert learn_silently(learner, X, y, size) == 1
    assert learner.array("precision_lost") == 1
    assert learn_silently(learner, X, y, size) == 0


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("summary", ["latest", "random"])
@pytest.mark.parametrize(("memory", "d"), [(2, 10), (4, 16), (20, 60)])
def test_a_memory_of_few_directions_keeps_its_digits(backend, dtype, summary, memory, d):
    rng = np.random.default_rng(memory)
    learner = ob.create("orfit", memory=memory, summary=summary, backend=backend, dtype=dtype)
    assert not learn_silently(learner, rng.standard_normal((2000, d)), rng.standard_normal(2000), 100)
    assert learner.array("direction_errors").max() < 100 * np.finfo(dtype).eps


@pytest.mark.parametrize("backend", BACKENDS)
def test_seen_rows_are_predicted_as_by_exact_arithmetic_until_the_warning(backend):
    """Memories of half of the rank or more, in 40 streams in which errors grow fast, slowly or by chance."""
    marked, worst = 0, 0.0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(3, 11))
        memory = int(rng.integers(1, d))
        X, y = rows_of_rank(int(rng.integers(memory + 1, min(2 * memory, d) + 1)), d, 100, seed)
        learner = ob.create("orfit", memory=memory, summary="latest", backend=backend)
        for i, w in enumerate(exact_weights(X, y, memory)):
            if learn_silently(learner, X[i : i + 1], y[i : i + 1], 1):
                marked += 1
                break
            want = X[: i + 1] @ w
            error = np.abs(learner.predict(X[: i + 1]) - want).max()
            worst = max(worst, error / max(np.abs(want).max(), np.abs(y[: i + 1]).max()))
    assert worst < most_error(np.dtype(float))
    assert marked > 15


@pytest.mark.parametrize("summary", ["latest", "random"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_errors_and_the_mark_do_not_depend_on_the_chunk_or_the_backend(summary, dtype):
    for seed in range(10):
        X, y = rows_of_rank(7, 12, 40, seed)
        found = []
        for backend in BACKENDS:
            for size in (1, 7, 40):
                learner = ob.create("orfit", memory=4, summary=summary, backend=backend, dtype=dtype, random_state=0)
                learn_silently(learner, X, y, size)
                found.append((learner.array("direction_errors"), learner.array("precision_lost")))
        for errors, mark in found:
            np.testing.assert_allclose(errors, found[0][0], rtol=1e-2)
            assert mark == found[0][1]


def test_states_from_before_errors_were_estimated_load():
    X, y = rows_of_rank(10, 10, 20, 0)
    learner = ob.create("orfit", memory=2, summary="latest").partial_fit(X, y)
    loaded = ob.restore(learner.state().drop_vars(["direction_errors", "precision_lost"]))
    assert not loaded.array("direction_errors").any()
    np.testing.assert_array_equal(loaded.array("w"), learner.array("w"))
    assert loaded.partial_fit(X, y).n_samples_seen_ == 40
