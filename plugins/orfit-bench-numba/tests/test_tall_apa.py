"""Affine projection on windows with more rows than features: least squares, and an SVD only near the cut-off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.signal import lfilter

import orfit_bench as ob
from orfit_bench_numba import apa

Array = np.ndarray[Any, Any]
STEP = 0.7
SIZES = [(1, 3), (2, 3), (5, 6), (8, 9), (8, 32), (17, 40)]
"""Numbers of features and of rows in the window."""


def make_rows(kind: str, n: int, d: int) -> Array:
    rng = np.random.default_rng(d)
    X = rng.standard_normal((n, d))
    if kind.startswith("0."):  # samples of an autoregressive process
        u = lfilter([1], [1, -float(kind)], rng.standard_normal(n + d - 1))
        X = np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(u, d)[:, ::-1])
    elif kind == "repeated":
        X[5], X[9], X[40 : 41 + d] = X[4], X[7], X[39]
    elif kind == "zeros":
        X[::5], X[40 : 41 + d] = 0, 0
    elif kind == "dependent columns":
        X[:, -1] = X[:, 0]
    elif kind == "uneven columns":
        X *= 10.0 ** np.linspace(-1, 2, d)
    elif kind == "large rows":
        X[50] *= 1e9  # a window with it needs an SVD
        X[60] *= 1e4  # a window with it does not; subtracting it leaves products with few digits
    elif kind != "noise":
        X *= float(kind)
    return X


def make_targets(X: Array, c: int = 1) -> Array:
    rng = np.random.default_rng(1)
    size = np.median(np.abs(X)) or 1.0
    return X @ rng.standard_normal((X.shape[1], c)) + 0.1 * size * rng.standard_normal((len(X), c))


def by_least_squares(X: Array, Y: Array, order: int, eps: float) -> tuple[Array, Array]:
    """Weights and predictions: each step solves [A, sqrt(eps) I] z = [b - A w, 0], in units of the largest row."""
    w, predictions, d = np.zeros((X.shape[1], Y.shape[1])), np.empty(Y.shape), X.shape[1]
    cut_off = np.finfo(float).eps ** 0.5
    for i, x in enumerate(X):
        predictions[i] = x @ w
        A, b = X[max(0, i + 1 - order) : i + 1], Y[max(0, i + 1 - order) : i + 1]
        size = np.abs(A).max() or 1.0
        B = np.concatenate([A / size, np.sqrt(eps) / size * np.eye(d)])
        errors = np.concatenate([(b - A @ w) / size, np.zeros((d, Y.shape[1]))])
        w += STEP * np.linalg.lstsq(B, errors, rcond=cut_off)[0]
    return w, predictions


def create(order: int | None, eps: float = 1e-6, dtype: str = "float64") -> Any:
    return ob.create("apa", backend="numba", dtype=dtype, projection_order=order, step_size=STEP, eps=eps)


def compare(got: Array, want: Array, tolerance: float) -> None:
    np.testing.assert_allclose(got.reshape(want.shape), want, rtol=0, atol=tolerance * np.abs(want).max())


@pytest.fixture
def rows_by_svd(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of rows that were left to an SVD."""
    learn, found = apa.learn_by_svd, []

    def record(s: Any, X: Array, *rest: Any) -> int:
        found.append(len(X))
        return learn(s, X, *rest)

    monkeypatch.setattr(apa, "learn_by_svd", record)
    return found


KINDS = ["noise", "0.99", "0.999", "repeated", "zeros", "dependent columns", "uneven columns", "large rows"]


BELOW_CUT_OFF = ("repeated", "zeros", "dependent columns", "large rows", "1e-150")
"""Rows for which adding eps changes which singular values are below the cut-off."""


@pytest.mark.parametrize("kind", [*KINDS, "1e8", "1e-8", "1e150", "1e-150"])
@pytest.mark.parametrize(("d", "order"), SIZES)
def test_steps_are_those_of_least_squares(kind: str, d: int, order: int) -> None:
    X = make_rows(kind, 110, d)
    for c, eps in ((1, 0.0), (2, 0.0), (1, 1e-6), (1, 1.0)):
        if (eps and kind in BELOW_CUT_OFF) or (eps, kind) == (1.0, "1e-8"):
            continue
        Y = make_targets(X, c)
        want, predicted = by_least_squares(X, Y, order, eps)
        learner = create(order, eps)
        compare(learner.prequential(X, Y if c > 1 else Y[:, 0]), predicted, 1e-11)
        compare(learner.array("w"), want, 1e-11)
        np.testing.assert_array_equal(learner.array("rows"), X[-order:])
        compare(learner.array("targets"), Y[-order:], 1e-12)
        if c == 1:
            alone = create(order, eps)
            for x, y in zip(X, Y[:, 0], strict=True):
                alone.learn_one(x, y)
            compare(alone.array("w"), want, 1e-11)


@pytest.mark.parametrize("kind", ["noise", "0.99", "0.999"])
@pytest.mark.parametrize("eps", [0.0, 1e-6, 1.0, 1e4])
def test_independent_columns_need_no_svd(kind: str, eps: float, rows_by_svd: list[int]) -> None:
    X = make_rows(kind, 600, 8)
    learner = create(20, eps).partial_fit(X[:300], X[:300, 0])
    for x in X[300:]:
        learner.learn_one(x, x[0])
    assert not rows_by_svd
    create(20, eps, "float32").partial_fit(make_rows("noise", 300, 8).astype(np.float32), X[:300, 0].astype("float32"))
    assert not rows_by_svd


def test_the_rows_of_dependent_columns_are_decomposed_together(rows_by_svd: list[int]) -> None:
    X = make_rows("dependent columns", 110, 5)
    X[80:] = make_rows("noise", 30, 5)
    create(7, 0.0).partial_fit(X, X[:, 1])
    assert rows_by_svd[:5] == [1, 2, 4, 8, 16]
    assert sum(rows_by_svd) < 110


@pytest.mark.parametrize("kind", ["noise", "0.99", "repeated"])
@pytest.mark.parametrize(("d", "order"), SIZES)
def test_float32_keeps_its_digits(kind: str, d: int, order: int) -> None:
    X = make_rows(kind, 110, d).astype(np.float32)
    y = make_targets(X)[:, 0].astype(np.float32)
    want, predicted = by_least_squares(X.astype(float), y[:, None].astype(float), order, 0.0)
    chunk, alone = (create(order, 0.0, "float32") for _ in range(2))
    for x, target in zip(X, y, strict=True):
        alone.learn_one(x, target)
    tolerance = 2e-5 if kind == "0.99" else 5e-6
    compare(chunk.prequential(X, y), predicted, tolerance)
    compare(chunk.array("w"), want, tolerance)
    compare(alone.array("w"), want, tolerance)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", ["noise", "0.999", "repeated"])
@pytest.mark.parametrize("order", [9, 16, None])
def test_single_calls_have_the_bits_of_chunks_of_one_row(kind: str, order: int | None, dtype: str) -> None:
    X = make_rows(kind, 70, 8).astype(dtype)
    y = make_targets(X)[:, 0].astype(dtype)
    alone, ones = create(order, dtype=dtype), create(order, dtype=dtype)
    for i in range(70):
        alone.learn_one(X[i], y[i])
        ones.prequential(X[i : i + 1], y[i : i + 1])
    assert alone.state().identical(ones.state())


def test_a_window_of_all_rows_grows() -> None:
    X = make_rows("noise", 700, 5)
    y = make_targets(X)
    learner = create(None, 0.0).partial_fit(X[:400], y[:400, 0])
    for i in range(400, 600):
        learner.learn_one(X[i], y[i, 0])
    learner.partial_fit(X[600:], y[600:, 0])
    compare(learner.array("w"), by_least_squares(X, y, 700, 0.0)[0], 1e-12)
    np.testing.assert_array_equal(learner.array("rows"), X)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_refused_row_changes_nothing(dtype: str) -> None:
    X = make_rows("noise", 40, 4).astype(dtype)
    learner = create(9, dtype=dtype).partial_fit(X, X[:, 0])
    learner.learn_one(X[0], X[0, 1])
    before = learner.to_bytes()
    bad = [(np.full(4, v, dtype), 1.0) for v in (np.nan, np.inf)] + [(X[1], np.inf), (X[1], np.nan)]
    for x, y in bad:
        for learn in (learner.learn_one, lambda x, y: learner.partial_fit(x[None], [y])):
            with pytest.raises((ValueError, ob.DivergedError)):
                learn(x, y)
            assert learner.to_bytes() == before
