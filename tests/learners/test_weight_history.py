"""Weight histories equal the weights after each part of the rows, and learn what `partial_fit` learns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import orfit_bench as ob
from orfit_bench.learners import weight_history

rng = np.random.default_rng(0)
X, Y = rng.standard_normal((23, 3)), rng.standard_normal((23, 2))
METHODS: list[tuple[str, dict[str, Any]]] = [
    ("lms", {"step_size": 0.1}),
    ("rls", {}),
    ("ridge", {}),
    ("apa", {}),
    ("orfit", {"memory": 2, "batch_size": 4}),
    ("sgd", {"averaging": "uniform", "step_size": 0.1}),
    ("kalman", {"transition": 0.9, "process_noise": 0.1}),
]


@pytest.mark.parametrize("every", [1, 5, 23, 40])
@pytest.mark.parametrize(("method", "settings"), METHODS)
def test_history_is_that_of_parts(method: str, settings: dict[str, Any], every: int) -> None:
    one, other = (ob.create(method, backend="numpy", **settings) for _ in range(2))
    found = one.weight_history(X, Y, every=every)
    assert found.dims == ("row", "parameter", "output")
    assert found.shape == (23 // every, 3, 2)
    for i, w in enumerate(found):
        other.partial_fit(X[i * every : (i + 1) * every], Y[i * every : (i + 1) * every])
        np.testing.assert_allclose(np.eye(3) @ w.values, other.predict(np.eye(3)), rtol=1e-12)
        assert int(w["row"]) == other.n_samples_seen_
    other.partial_fit(X[other.n_samples_seen_ :], Y[other.n_samples_seen_ :])
    assert one.n_samples_seen_ == 23
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-12)


def test_names_and_counts() -> None:
    learner = ob.create("rls", backend="numpy")
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    learner.partial_fit(table[:3], Y[:3, 0])
    found = learner.weight_history(table[3:], Y[3:, 0], every=10)
    assert found.dims == ("row", "parameter")
    assert found["row"].values.tolist() == [13, 23]
    assert found["parameter"].values.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("method", ["lms", "ridge"])
def test_sparse_rows_have_the_history_of_dense_ones(method: str, make: Any) -> None:
    one, other = (ob.create(method, backend="numpy") for _ in range(2))
    found, want = one.weight_history(make(X), Y, every=2), other.weight_history(X, Y, every=2)
    np.testing.assert_allclose(found, want, atol=1e-12)
    assert found["row"].equals(want["row"])
    rows = X.copy()
    rows[5] = 1e200
    with pytest.raises(ob.DivergedError) as info:
        ob.create("lms", backend="numpy").weight_history(make(rows), Y, every=2)
    assert info.value.row == 5


def test_a_model_has_no_weights_by_target() -> None:
    table, targets = pd.DataFrame(X, columns=["a", "b", "c"]), pd.DataFrame(Y, columns=["u", "v"])
    learner = ob.create("sgd", backend="numpy", model=ob.MLP([2]))
    found = learner.weight_history(table, targets, every=10)
    assert found.dims == ("row", "parameter", "output")
    assert found.shape == (2, 14, 1)
    assert set(found.coords) == {"row"}
    linear = ob.create("sgd", backend="numpy").weight_history(table, targets)
    assert linear["output"].values.tolist() == ["u", "v"]


def test_refusals_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = ob.create("lms", backend="numpy")
    for every, error in ((0, ValueError), (True, ValueError), (1.5, TypeError)):
        with pytest.raises(error, match="every="):
            learner.weight_history(X, Y, every=every)
    monkeypatch.setattr(weight_history, "MAX_BYTES", 23 * 6 * 8 // 2)
    with pytest.raises(ValueError, match="pass every=2 or more"):
        learner.weight_history(X, Y)
    assert learner.n_samples_seen_ == 0
    assert len(learner.weight_history(X, Y, every=2)) == 11
    with pytest.raises(TypeError, match="greedy has no weights"):
        ob.create("greedy", backend="numpy").weight_history(X, Y)


def test_a_diverging_row_is_named_and_those_before_it_are_learned() -> None:
    learner = ob.create("lms", backend="numpy", step_size=1.0)
    rows = np.array([[1.0], [1.0], [1e200], [1.0]])
    with pytest.raises(ob.DivergedError) as raised:
        learner.weight_history(rows, [1.0, 1.0, -1e200, 1.0], every=1)
    assert raised.value.row == 2
    assert learner.n_samples_seen_ == 2


@pytest.mark.parametrize("every", [1, 2, 3, 8])
def test_a_refused_batch_is_named_by_its_first_row(every: int) -> None:
    X, y = np.ones((8, 2)), np.ones(8)
    X[5], y[5] = 1e200, -1e200
    learner = ob.create("sgd", backend="numpy", batch_size=4, step_size=0.1)
    with pytest.raises(ob.DivergedError) as caught:
        learner.weight_history(X, y, every=every)
    assert (caught.value.step, caught.value.row) == (2, 4)
