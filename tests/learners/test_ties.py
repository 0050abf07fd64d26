"""Ties: equal scores of classes, and directions of equal size for a full memory."""

import numpy as np
import pytest

import orfit_bench as ob

BACKENDS = ["numpy", "numba"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("method", ["class_rls", "softmax"])
def test_of_classes_with_equal_scores_the_first_seen_is_predicted(method, backend):
    zeros = np.zeros((3, 2))
    for labels in (["b", "c", "a"], ["c", "a", "b"]):
        learner = ob.create(method, backend=backend).partial_fit(zeros, labels)
        scores = learner.decision_function(np.ones((2, 2)))
        assert (scores == scores[:, :1]).all()
        assert learner.predict(np.ones((2, 2))).tolist() == labels[:1] * 2
        assert learner.predict_one(np.ones(2)) == labels[0]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("size", [1, 2, 4])
def test_of_directions_of_equal_size_the_earliest_stay(size, backend):
    X = 2 * np.eye(6)
    learner = ob.create("orfit", memory=2, summary="largest", backend=backend)
    for i in range(0, 6, size):
        learner.partial_fit(X[i : i + size], np.ones(len(X[i : i + size])))
    kept = np.abs(learner.state()["basis"].values)
    np.testing.assert_array_equal(kept, np.eye(6)[:2])
    np.testing.assert_array_equal(learner.state()["singular_values"].values, [2, 2])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_directions_that_tie_but_for_rounding_do_not_depend_on_the_chunk_or_the_backend(dtype):
    """Residuals of rows of zeros and ones often have equal norms, which each kernel rounds differently."""
    limit, differing = 1e-9 if dtype == "float64" else 1e-3, []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        shape, memory = (int(rng.integers(4, 12)), int(rng.integers(3, 8))), int(rng.integers(1, 4))
        X, y = rng.integers(0, 2, shape).astype(dtype), np.arange(1, shape[0] + 1, dtype=dtype)
        found = []
        for backend in BACKENDS:
            for size in (len(X), 3, 1):
                learner = ob.create("orfit", memory=memory, summary="largest", backend=backend, dtype=dtype)
                for i in range(0, len(X), size):
                    learner.partial_fit(X[i : i + size], y[i : i + size])
                found.append(learner.array("w"))
        if max(np.abs(w - found[0]).max() for w in found) > limit * max(1, np.abs(found[0]).max()):
            differing.append(seed)
    assert not differing
