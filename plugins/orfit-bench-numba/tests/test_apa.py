"""Affine projection on correlated and dependent rows: as accurate as the reference, by an SVD only near the cut-off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.signal import lfilter

import orfit_bench as ob
from orfit_bench.kernels.regularized_inverse import regularized_inverse
from orfit_bench_numba import apa

Array = np.ndarray[Any, Any]


def delay_line(n: int, taps: int, pole: float) -> Array:
    """Rows of the last samples of an autoregressive process."""
    u = lfilter([1.0], [1.0, -pole], np.random.default_rng(0).standard_normal(n + taps - 1))
    return np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(u, taps)[:, ::-1])


def pairs(n: int, distance: float) -> Array:
    """Every second row is close to the one before it."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, 20))
    X[1::2] = X[::2] + distance * rng.standard_normal((n // 2, 20))
    return X


def with_zeros(n: int) -> Array:
    X = np.random.default_rng(2).standard_normal((n, 6))
    X[::5] = 0
    return X


CASES = {
    "ar 0.99": (delay_line(120, 32, 0.99), 1e-12),
    "ar 0.999": (delay_line(120, 32, 0.999), 1e-12),
    "as many rows as features": (delay_line(80, 4, 0.999), 1e-10),
    "nearly repeated": (pairs(80, 1e-5), 1e-8),
    "repeated": (pairs(80, 0.0), 1e-12),
    "zeros": (with_zeros(60), 1e-12),
}


@pytest.mark.parametrize("eps", [0.0, 1e-6, 1.0])
@pytest.mark.parametrize("case", CASES)
def test_states_and_predictions_are_those_of_the_reference(case: str, eps: float) -> None:
    X, tolerance = CASES[case]
    y = np.random.default_rng(3).standard_normal((len(X), 2))
    for order in (2, 4, 8):
        settings = {"projection_order": order, "eps": eps}
        reference, fast = (ob.create("apa", backend=name, **settings) for name in ("numpy", "numba"))
        want, got = reference.prequential(X, y), fast.prequential(X, y)
        np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * np.abs(want).max())
        want, got = (learner.array("w") for learner in (reference, fast))
        np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * np.abs(want).max())


def test_float32_keeps_its_digits_on_correlated_rows() -> None:
    X = delay_line(120, 32, 0.999).astype(np.float32)
    y = np.random.default_rng(3).standard_normal(len(X)).astype(np.float32)
    want, got = (
        ob.create("apa", backend=backend, dtype=dtype, projection_order=8).partial_fit(X, y).array("w")
        for backend, dtype in (("numpy", "float64"), ("numba", "float32"))
    )
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * np.abs(want).max())


@pytest.mark.parametrize(("dtype", "pole"), [("float64", 0.999), ("float32", 0.99)])
@pytest.mark.parametrize("eps", [0.0, 1e-6, 1.0, 1e4])
def test_correlated_rows_need_no_svd(eps: float, dtype: str, pole: float, monkeypatch: pytest.MonkeyPatch) -> None:
    windows: list[Array] = []

    def record(A: Array, eps: float) -> Array:
        windows.append(A)
        return regularized_inverse(A, eps)

    monkeypatch.setattr(apa, "regularized_inverse", record)
    X = delay_line(300, 32, pole).astype(dtype)
    y = np.random.default_rng(3).standard_normal(len(X)).astype(dtype)
    ob.create("apa", backend="numba", dtype=dtype, projection_order=8, eps=eps).partial_fit(X, y)
    assert not windows
    ob.create("apa", backend="numba", dtype=dtype, projection_order=2, eps=eps).partial_fit(X[[0, 0]], y[:2])
    assert len(windows) == 1  # a repeated row


def signal(kind, n, d, rng):
    """Windows of a signal: white noise, correlated, nearly constant, or with repeated and zero rows."""
    if kind == "noise":
        return rng.standard_normal((n, d))
    if kind == "repeated":
        X = rng.standard_normal((n, d))
        X[5], X[9], X[20] = X[4], X[7], 0
        return X
    u = lfilter([1], [1, -float(kind)], rng.standard_normal(n + d - 1))
    return np.lib.stride_tricks.sliding_window_view(u, d)[:, ::-1]


@pytest.mark.parametrize("kind", ["noise", "0.99", "0.999", "repeated"])
@pytest.mark.parametrize("order", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_of_single_calls_are_those_of_a_chunk(kind, order, dtype):
    """Equal to a chunk up to rounding, and to chunks of one row, which use the same function, to the bit."""
    rng = np.random.default_rng(order)
    X = np.ascontiguousarray(signal(kind, 60, 8, rng), dtype)
    y = (X @ rng.standard_normal(8) + 0.1 * rng.standard_normal(60)).astype(dtype)
    alone, ones, chunk = (
        ob.create("apa", backend="numba", dtype=dtype, projection_order=order, step_size=0.7) for _ in range(3)
    )
    for i in range(60):
        alone.learn_one(X[i], y[i])
        ones.prequential(X[i : i + 1], y[i : i + 1])
    chunk.partial_fit(X, y)
    for name in ("w", "rows", "targets"):
        np.testing.assert_array_equal(alone.array(name), ones.array(name))
        atol = 1e-9 if dtype == "float64" else 2e-3
        np.testing.assert_allclose(alone.array(name), chunk.array(name), rtol=0, atol=atol * abs(y).max())


def test_a_refused_row_changes_nothing():
    rng = np.random.default_rng(0)
    learner = ob.create("apa", backend="numba", projection_order=3).partial_fit(rng.standard_normal((9, 6)), np.ones(9))
    learner.learn_one(rng.standard_normal(6), 1.0)
    before = learner.to_bytes()
    for x, y in [(np.full(6, np.nan), 1.0), (np.full(6, np.inf), 1.0), (np.ones(6), np.inf), (np.ones(6), np.nan)]:
        with pytest.raises((ValueError, ob.DivergedError)):
            learner.learn_one(x, y)
        assert learner.to_bytes() == before
