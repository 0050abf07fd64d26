"""Rows that a pipeline learns and predicts one per call: the same bits as of chunks with one row."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.learners.pipelines import pipeline as module

LEARNERS: dict[str, tuple[str, dict[str, Any]]] = {
    "rls": ("rls", {"ridge": 0.1}),
    "rls that forgets": ("rls", {"ridge": 0.1, "forgetting_factor": 0.98}),
    "ridge": ("ridge", {"ridge": 0.1}),
    "kalman": ("kalman", {}),
    "class_rls": ("class_rls", {}),
}


def rows() -> np.ndarray[Any, Any]:
    """Columns of different sizes, one of them constant at first, and a row that is far from the others."""
    X = np.random.default_rng(0).standard_normal((150, 4)) * [1, 100, 1e-3, 5] + [0, 50, 3, 1]
    X[:20, 3] = 1
    X[70] *= 3
    return X


def two(case: str, backend: str, dtype: str, scale: bool) -> tuple[Any, Any, Any]:
    method, settings = LEARNERS[case]
    learners = [ob.create(method, backend=backend, dtype=dtype, **settings) for _ in range(2)]
    one, other = (ob.pipeline(ob.Standardizer(scale=scale), "intercept", learner) for learner in learners)
    y = np.random.default_rng(1).standard_normal(150)
    return one, other, np.where(y > 0, "a", "b") if method == "class_rls" else y


def assert_same(one: Any, other: Any) -> None:
    assert one.learner.state().identical(other.learner.state())
    assert one.position.to_dict() == other.position.to_dict()
    assert [t.to_dict() for t in one.transforms] == [t.to_dict() for t in other.transforms]


@pytest.mark.filterwarnings("ignore:.*half of the digits:orfit_bench.AccuracyWarning")
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("case", LEARNERS)
def test_rows_one_by_one_equal_chunks_of_one_row(case: str, backend: str, dtype: str, scale: bool) -> None:
    one, other, y = two(case, backend, dtype, scale)
    for i, x in enumerate(rows()):
        found = [0, 0]
        for k, (pipeline, act) in enumerate(((one, one.learn_one), (other, other.partial_fit))):
            try:
                act(x.tolist(), y[i]) if k == 0 else act(x[None], y[i : i + 1])
            except ob.DivergedError:
                found[k] = pipeline.n_samples_seen_
        assert found[0] == found[1]
        assert_same(one, other)
    assert one.predict_one(rows()[3]) == pytest.approx(other.predict(rows()[3:4])[0], rel=1e-5)


def test_most_rows_take_the_short_path(monkeypatch: pytest.MonkeyPatch) -> None:
    one, _, y = two("rls", "numpy", "float64", True)
    chunks: list[int] = []
    learn = module.learn
    monkeypatch.setattr(module, "learn", lambda *given: chunks.append(1) or learn(*given))
    for x, target in zip(rows(), y, strict=True):
        one.learn_one(x, target)
    assert 8 < len(chunks) < 40  # the first rows, powers of two, the constant column, and the far row


@pytest.mark.parametrize(
    ("x", "y", "text"),
    [
        ([1.0, np.nan, 1.0, 1.0], 1.0, r"X\[0, 1\] is nan"),
        ([1.0, 1e308, 1.0, 1.0], 1.0, "overflows when it is standardized"),
        ([1.0, 2.0, 3.0], 1.0, "3"),
        ([1.0, 2.0, 3.0, 4.0], np.nan, r"y\[0\] is nan"),
        ([1.0, 2.0, 3.0, 4.0], "a", "y"),
        ([1.0, "2", 3.0, 4.0], 1.0, "X"),
    ],
)
def test_bad_rows_are_refused_as_in_a_chunk(x: Any, y: Any, text: str) -> None:
    one, other, targets = two("rls", "numpy", "float64", True)
    for pipeline in (one, other):
        pipeline.partial_fit(rows(), targets)
    with pytest.raises((TypeError, ValueError), match=text):
        one.learn_one(x, y)
    assert_same(one, other)


def test_a_warning_that_is_an_error_comes_after_the_row() -> None:
    one, other, _ = two("rls", "numpy", "float32", True)
    x = np.random.default_rng(0).standard_normal((400, 4))
    x[:, 3] = x[:, 2] + 1e-5 * x[:, 3]
    for i, row in enumerate(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            other.learn_one(row, row[0])
            warnings.simplefilter("error")
            try:
                one.learn_one(row, row[0])
            except ob.AccuracyWarning:
                assert one.n_samples_seen_ == i + 1
        assert one.position.count == i + 1
    np.testing.assert_array_equal(one.learner.array("w"), other.learner.array("w"))


def test_dicts_are_learned_by_their_names() -> None:
    one, other, y = two("rls", "numpy", "float64", True)
    named = [dict(zip("abcd", x.tolist(), strict=True)) for x in rows()]
    for x, row, target in zip(named, rows(), y, strict=True):
        one.learn_one(dict(reversed(x.items())) if one.n_samples_seen_ else x, target)
        other.learn_one(row, target)
    assert_same(one, other)
    assert one.predict_one(named[5]) == other.predict_one(rows()[5])
    with pytest.raises(ValueError, match="e"):
        one.learn_one({"a": 1.0, "b": 1.0, "c": 1.0, "e": 1.0}, 1.0)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_a_huge_target_moves_the_prior_without_a_warning_of_numpy(backend: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3)) * [1e-3, 1, 1e3] + [5, 0, -1e4]
    t = X @ [100, 1, 0.01]
    t[5] = 1e308
    pipeline = ob.pipeline("standardize", "intercept", ob.create("kalman", backend=backend)).partial_fit(X, t)
    assert np.isfinite(pipeline.predict(X, return_std=True)).all()
